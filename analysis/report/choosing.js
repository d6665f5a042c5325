// Which system is best within bounds, and how sure that is: the page's side of analysis/deployment.py. The resamples of
// the questions were drawn when the report was written; here they are only judged, so any bounds can be answered at once.
"use strict";

const Choosing = {
  unpacked: new Map(),

  // Base64 of little-endian 32-bit floats, kept by its text.
  unpack(text) {
    if (!Choosing.unpacked.has(text)) {
      const bytes = Uint8Array.from(window.atob(text), (char) => char.charCodeAt(0));
      Choosing.unpacked.set(text, new Float32Array(bytes.buffer));
    }
    return Choosing.unpacked.get(text);
  },

  // Why a system cannot be judged within bounds; "" where it can.
  unjudged(system, bounds) {
    if (system.reference) return "a reference, not ranked";
    if (system.quality === null) return "nothing was scored";
    if (!system.complete) return "it lacks scores on some of the tasks";
    if (bounds.cost !== null && system.cost === null) return "its price is not known";
    if (bounds.seconds === null || system.seconds !== null) return "";
    return system.replayed ? `all its replies were replayed, so it has no latency: ${Report.data.measure}` : "its seconds are not known";
  },

  // Which bounds a system is beyond, as keys.
  beyond(system, bounds) {
    const over = ["seconds", "cost"].filter((name) => bounds[name] !== null && system[name] !== null && system[name].mean > bounds[name]);
    return bounds.quality !== null && system.quality < bounds.quality ? [...over, "quality"] : over;
  },

  // The best of a condition's systems within bounds {seconds, cost, quality}, null for none; bounds are on means.
  choose(condition, bounds) {
    const leftOut = condition.systems.map((system) => ({ system, why: Choosing.unjudged(system, bounds) })).filter(({ why }) => why);
    const judged = condition.systems.filter((system) => !Choosing.unjudged(system, bounds));
    const mean = (system, name) => (system[name] === null ? Infinity : system[name].mean);
    const compared = (a, b) => (Math.abs(a.quality - b.quality) > 1e-12 ? b.quality - a.quality
      : Math.sign(mean(a, "seconds") - mean(b, "seconds")) || Math.sign(mean(a, "cost") - mean(b, "cost")) || 0);
    const fitting = judged.filter((system) => !Choosing.beyond(system, bounds).length).sort(compared);
    const beyond = judged.map((system) => ({ system, over: Choosing.beyond(system, bounds) })).filter(({ over }) => over.length);
    const shares = Choosing.shares(condition.resampled, judged, bounds);
    const best = fitting[0] || null;
    const rivals = judged.map((system, place) => ({ system, share: shares[place] }))
      .filter(({ system, share }) => share > 0 && system !== best).sort((a, b) => b.share - a.share);
    return {
      best, fitting, beyond, leftOut, rivals,
      share: best ? shares[judged.indexOf(best)] : 0,
      noneFits: Math.max(0, 1 - shares.reduce((sum, share) => sum + share, 0)),
      questions: condition.resampled?.questions ?? 0,
      resamples: condition.resampled?.resamples ?? 0,
    };
  },

  // In which share of the resamples each system is the best that fits; equals share.
  shares(resampled, judged, bounds) {
    const wins = judged.map(() => 0);
    if (!resampled || !judged.length) return wins;
    const width = resampled.rows.length;
    const columns = judged.map((system) => resampled.rows.indexOf(system.row));
    const quality = Choosing.unpack(resampled.quality);
    const limits = ["seconds", "cost"].filter((name) => bounds[name] !== null).map((name) => ({ values: Choosing.unpack(resampled[name]), most: bounds[name] }));
    const least = bounds.quality ?? -1;
    for (let start = 0; start < quality.length; start += width) {
      let most = -1;
      let equals = [];
      columns.forEach((column, place) => {
        const at = start + column;
        // "not <=" rather than ">": what is not a number fits within no bound
        if (quality[at] < least || limits.some(({ values, most: limit }) => !(values[at] <= limit))) return;
        if (quality[at] > most + 1e-7) equals = [];
        if (quality[at] >= most - 1e-7) equals.push(place);
        most = Math.max(most, quality[at]);
      });
      for (const place of equals) wins[place] += 1 / equals.length;
    }
    return wins.map((sum) => sum / resampled.resamples);
  },

  // Of points {cost, quality} those that no other one is at least as good and as cheap as, and better in one.
  front(points) {
    return points.filter((one) => !points.some((other) => other.cost <= one.cost && other.quality >= one.quality
      && (other.cost < one.cost || other.quality > one.quality)));
  },
};
