"""What is researched, where it appears, and the words of titles, abstracts and organisations."""

from __future__ import annotations


# fmt: off
def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIELDS: dict[str, tuple[str, ...]] = {
    "Data Management": (
        "Query Optimization", "Stream Processing", "Entity Resolution", "Schema Matching",
        "Transaction Scheduling",
        "Approximate Query Answering", "Graph Databases", "Data Cleaning", "Index Structures",
        "Data Provenance",
        "Spatial Databases", "Time Series Storage",
    ),
    "Data Mining": (
        "Community Detection", "Frequent Pattern Mining", "Anomaly Detection", "Link Prediction",
        "Graph Clustering",
        "Influence Maximization", "Recommender Systems", "Tensor Factorization", "Trajectory Mining",
        "Subgroup Discovery",
        "User Modeling", "Graph Sampling",
    ),
    "Language Technology": (
        "Machine Translation", "Question Answering", "Text Summarization", "Relation Extraction",
        "Dependency Parsing",
        "Dialogue Systems", "Sentiment Analysis", "Coreference Resolution", "Word Sense Disambiguation",
        "Information Extraction", "Language Modeling", "Semantic Role Labeling",
    ),
    "Machine Vision": (
        "Object Detection", "Image Segmentation", "Pose Estimation", "Visual Tracking", "Image Retrieval",
        "Depth Estimation", "Action Recognition", "Super Resolution", "Scene Understanding",
        "Point Cloud Registration",
        "Image Captioning", "Optical Flow",
    ),
    "Learning Theory": (
        "Online Learning", "Bandit Algorithms", "Kernel Methods", "Active Learning",
        "Representation Learning",
        "Causal Inference", "Gaussian Processes", "Transfer Learning", "Federated Learning",
        "Metric Learning",
        "Domain Adaptation", "Meta Learning",
    ),
    "Computer Systems": (
        "Memory Management", "File Systems", "Virtualization", "Fault Tolerance", "Cluster Scheduling",
        "Consensus Protocols", "Energy Efficiency", "Storage Systems", "Operating System Kernels",
        "Serverless Computing",
        "Cache Replacement", "Performance Modeling",
    ),
    "Networking": (
        "Congestion Control", "Wireless Sensor Networks", "Network Measurement", "Packet Scheduling",
        "Routing Protocols",
        "Software Defined Networking", "Edge Computing", "Spectrum Sharing", "Content Delivery",
        "Network Coding",
        "Mobile Crowdsensing", "Traffic Engineering",
    ),
    "Security": (
        "Intrusion Detection", "Access Control", "Malware Analysis", "Side Channel Attacks",
        "Differential Privacy",
        "Key Exchange", "Secure Computation", "Homomorphic Encryption", "Fuzz Testing",
        "Authentication Protocols",
        "Spam Filtering", "Digital Forensics",
    ),
    "Software Engineering": (
        "Program Repair", "Symbolic Execution", "Code Review", "Test Generation", "Model Checking",
        "Static Analysis",
        "Requirements Engineering", "Code Search", "Software Evolution", "Defect Prediction",
        "Type Inference",
        "Program Synthesis",
    ),
    "Robotics": (
        "Motion Planning", "Visual Odometry", "Grasp Synthesis", "Swarm Robotics", "Legged Locomotion",
        "Map Building",
        "Multi Robot Coordination", "Imitation Learning", "Soft Robotics", "Aerial Robotics",
        "Robot Navigation",
        "Tactile Sensing",
    ),
    "Human Computer Interaction": (
        "Gesture Recognition", "Eye Tracking", "Accessible Interfaces", "Information Visualization",
        "Text Entry",
        "Virtual Reality", "Crowdsourcing", "Haptic Feedback", "Usability Evaluation", "Wearable Computing",
        "Conversational Interfaces", "Collaborative Editing",
    ),
    "Computational Biology": (
        "Protein Folding", "Sequence Alignment", "Gene Regulation Networks", "Single Cell Analysis",
        "Drug Discovery",
        "Phylogenetic Inference", "Genome Assembly", "Metabolic Modeling", "Epidemic Forecasting",
        "Medical Imaging",
        "Protein Interaction Networks", "Variant Calling",
    ),
}

QUALITIES = _words(
    "Adaptive Robust Scalable Incremental Hierarchical Interpretable Lightweight Distributed Calibrated "
    "Sparse Probabilistic Unsupervised Interactive Contrastive Parallel Memory-Efficient Uncertainty-Aware "
    "Cost-Sensitive Privacy-Preserving Self-Supervised Modular Compositional Asynchronous Geometric "
    "Stochastic Declarative Bilevel Structured Multiscale Streaming Verified Budgeted Weakly-Supervised "
    "Convex Amortized Differentiable Principled Sample-Efficient Hybrid Curriculum-Based Low-Rank "
    "Ensemble-Based Bayesian Locality-Aware Demand-Driven"
)

METHODS: tuple[str, ...] = (
    "Random Walks", "Message Passing", "Integer Programming", "Attention Models", "Decision Trees",
    "Sketches",
    "Spectral Methods", "Lattice Search", "Hash Tables", "Markov Models", "Submodular Functions",
    "Mixture Models",
    "Sparse Coding", "Tree Automata", "Mirror Descent", "Gradient Boosting", "Autoencoders",
    "Constraint Solving",
    "Dynamic Programming", "Belief Propagation", "Reinforcement Learning", "Genetic Search", "Rule Induction",
    "Knowledge Distillation", "Graph Kernels", "Particle Filters", "Policy Gradients", "Prototype Networks",
    "Bloom Filters", "Wavelets", "Game Theory", "Optimal Transport", "Monte Carlo Search",
    "Nearest Neighbors",
    "Simulated Annealing", "Variational Methods", "Linear Sketching", "Local Search", "Logic Programs",
    "Neural Operators",
)

SETTINGS: tuple[str, ...] = (
    "in Rural Clinics", "under Distribution Shift", "at Planet Scale", "with Missing Data",
    "in Smart Buildings",
    "on Embedded Devices", "under Tight Deadlines", "for Low-Resource Languages", "in Crowded Cities",
    "with Noisy Labels",
    "for Satellite Archives", "in Shared Clusters", "with Few Examples", "under Adversarial Pressure",
    "for Public Transport",
    "in Digital Libraries", "with Human Feedback", "on Mobile Phones", "for Ocean Monitoring",
    "in Long Documents",
    "under Partial Observability", "for Power Grids", "in Peer-to-Peer Markets", "with Delayed Rewards",
    "on Streaming Logs",
    "for Precision Farming", "in Multi-Tenant Clouds", "with Sparse Supervision", "for Early Diagnosis",
    "at the Network Edge",
    "in Open Worlds", "with Formal Guarantees", "for Emergency Response", "in Scientific Workflows",
    "on Heterogeneous Hardware",
    "for Online Classrooms", "with Limited Memory", "in Warehouse Logistics", "for Cultural Heritage",
    "with Correlated Failures",
    "in Historical Records", "under Heavy Traffic", "for Autonomous Ferries", "with Side Information",
    "in Alpine Terrain",
)

SYSTEMS = _words(
    "Kestrel Lantern Marigold Obsidian Quillon Tamarack Saffron Heron Juniper Cobalt Mistral Larkspur "
    "Pergola Zephyrine Bramble Tessera Corvina Dovetail Everbloom Fathom Gossamer Halyard Inkwell "
    "Jasperine Kilnfire Loomis Monsoona Nimbrel Oriole Pumice Quartzite Riverine Sextant Trellis Umbra "
    "Verdigris Willowisp Yarrow Zinnia Amberlight"
)

SERIES: tuple[str, ...] = (
    "Meridian Conference on", "Halcyon Transactions on", "Borealis Symposium on", "Annals of Open",
    "Cardinal Workshop on",
    "Solstice Letters in",
)

PLACE_STARTS = _words(
    "Vel Kars Mor Tal Bren Cald Dov Elmar Fennu Gar Hest Ist Jor Kelm Lun Melv Norv Osk Pell Quor Rav "
    "Selk Torv Ulv Vars Wexa Yar Zel Aldu Brog Cor Dras Est Falk Grel Holv Imb Jas Kron Larn Mirr Neth "
    "Orl Prav Rost Skel Thal Urm Vin Wold Zan Arv Belu Ciran Dunv Ebr Fars Gild Harv Ingl"
)

PLACE_ENDS = _words(
    "mora sund vik haven dale stad mere ford wick holm grad burga bridge minster crest gate port shire "
    "tova lund nesse quay ridge brook vale heim mark moor pass pool rock shore spring stone strand ton "
    "water well wood worth"
)

PLACE_PREFIXES: tuple[str, ...] = ("", "North ", "South ", "East ", "West ", "Upper ", "Lower ", "Old ",
"New ")

ORGANISATIONS: tuple[tuple[str, str, str], ...] = (
    # pattern, kind, label of the mail domain
    ("{} University", "university", "u"), ("University of {}", "university", "uni"),
    ("{} Institute of Technology", "university", "tech"), ("{} National Laboratory", "laboratory", "lab"),
    ("{} State University", "university", "state"), ("Technical University of {}", "university", "tu"),
    ("{} Systems Research", "company", "systems"), ("{} Polytechnic", "university", "poly"),
    ("{} Academy of Sciences", "laboratory", "acad"), ("{} Medical University", "university", "med"),
    ("{} Analytics", "company", "analytics"), ("Royal College of {}", "university", "royal"),
    ("{} Centre for Computing", "laboratory", "centre"), ("{} Cloudworks", "company", "cloud"),
)
