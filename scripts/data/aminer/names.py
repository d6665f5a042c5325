"""Given and family names from which scholars are made.

The lists are ours: common names of fifteen cultures, combined at random. A combination that some living
person also bears is chance; nothing else about the scholar is taken from anyone. Names with accents are there
on purpose, so that a search has to fold them.
"""

from __future__ import annotations

from typing import NamedTuple


class Culture(NamedTuple):
    """Names that go together; `initials` says whether a middle initial is usual."""

    male: tuple[str, ...]
    female: tuple[str, ...]
    family: tuple[str, ...]
    initials: bool


def _culture(male: str, female: str, family: str, *, initials: bool) -> Culture:
    return Culture(tuple(male.split()), tuple(female.split()), tuple(family.split()), initials)


CULTURES: tuple[Culture, ...] = (
    _culture(  # Chinese
        "Wei Jun Hao Ming Tao Lei Bin Peng Kai Yong Zhiyuan Haoran Jianguo Wenbo Shaohua Guoqiang",
        "Xiu Fang Na Ting Yan Jing Hui Mei Xinyi Yuhan Lanying Shuang Qiaoling Ruolan Meihua Yulan",
        "Zhang Wang Li Zhao Chen Yang Huang Zhou Wu Xu Sun Ma Zhu Hu Guo He Lin Gao Luo Zheng Liang Xie "
        "Tang Feng "
        "Cao Peng Zeng Xiao Tian Dong Yuan Pan",
        initials=False,
    ),
    _culture(  # Japanese
        "Haruto Kenji Takashi Daichi Ryota Sho Makoto Yuki Naoki Kazuo Satoru Tetsuya Hideo Shinji Koichi Masaru",
        "Sakura Yui Aiko Haruka Naomi Emiko Kaori Mio Chiyo Rina Asuka Michiko Noriko Fumiko Ayaka Tomoko",
        "Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Kobayashi Kato Yoshida Yamada Sasaki "
        "Yamaguchi "
        "Matsumoto Inoue Kimura Hayashi Shimizu Mori Abe Ikeda Hashimoto Ishikawa Ogawa Okada Fujita Goto "
        "Murakami Endo",
        initials=False,
    ),
    _culture(  # Korean
        "Minjun Seojun Jihoon Hyunwoo Dongwook Sungmin Taeyang Joonho Kyungsoo Yonghwa Seungho Jaewon Byungchul Inho",
        "Jiwoo Seoyeon Minji Hana Yuna Sooyoung Eunji Hyejin Nari Boram Kyunghee Sunmi Jihye Yerin",
        "Kim Park Choi Jung Kang Cho Yoon Jang Lim Han Shin Seo Kwon Hwang Ahn Song Ryu Hong Moon Yang Bae "
        "Baek Heo "
        "Nam Noh Koo",
        initials=False,
    ),
    _culture(  # Indian
        "Arjun Rohan Vikram Anil Sanjay Karthik Rahul Suresh Manoj Nikhil Aditya Prakash Harish Deepak Girish Varun",
        "Priya Ananya Kavita Lakshmi Meera Sunita Divya Pooja Nandini Shreya Radhika Isha Gayatri Swati Anjali Rekha",
        "Sharma Verma Gupta Iyer Nair Reddy Patel Mehta Rao Kulkarni Banerjee Mukherjee Chatterjee Das Bose "
        "Joshi "
        "Desai Menon Pillai Krishnan Srinivasan Agarwal Saxena Mishra Pandey Trivedi Hegde Shetty Naidu "
        "Bhatt",
        initials=True,
    ),
    _culture(  # German
        "Lukas Jonas Felix Stefan Markus Jürgen Matthias Tobias Andreas Florian Günther Heinrich Ulrich "
        "Dieter Rolf Jörg",
        "Anna Lena Katrin Sabine Ute Heike Birgit Greta Johanna Franziska Anke Elke Silke Frieda Käthe Mareike",
        "Müller Schmidt Schneider Fischer Weber Becker Hoffmann Schäfer Koch Bauer Richter Klein Wolf "
        "Schröder Neumann "
        "Braun Zimmermann Krüger Hartmann Lange Krause Lehmann Vogel Keller Günther Brandt Haas Böhm Seidel "
        "Jäger",
        initials=True,
    ),
    _culture(  # French
        "Lucas Hugo Étienne Mathieu Julien Antoine Guillaume Olivier Benoît Rémi Thierry François Gaspard "
        "Yves Loïc Denis",
        "Camille Chloé Élodie Manon Sylvie Claire Hélène Margaux Céline Aurélie Nathalie Solène Inès "
        "Mathilde Odile Lucie",
        "Martin Bernard Dubois Durand Moreau Laurent Lefèvre Michel Garnier Roux Fournier Girard Bonnet "
        "Dupont Lambert "
        "Fontaine Rousseau Chevalier Gauthier Perrin Morel Mercier Blanchard Guérin Boyer Lemoine Renard "
        "Barbier Aubert",
        initials=False,
    ),
    _culture(  # Spanish
        "José Álvaro Diego Javier Sergio Andrés Rubén Íñigo Joaquín Ramón Alejandro Esteban Hernán Nicolás "
        "Tomás Emilio",
        "Lucía Sofía Carmen Elena Pilar Inmaculada Ximena Valeria Beatriz Rocío Marisol Noelia Paloma Alba "
        "Consuelo Itziar",
        "García Fernández González Rodríguez López Martínez Sánchez Pérez Gómez Jiménez Ruiz Hernández Díaz "
        "Moreno "
        "Muñoz Álvarez Romero Navarro Torres Domínguez Vázquez Ramos Gil Serrano Molina Ortega Delgado "
        "Castro Rubio Ibáñez",
        initials=False,
    ),
    _culture(  # Italian
        "Marco Luca Matteo Alessandro Giovanni Paolo Stefano Lorenzo Davide Riccardo Enrico Gianluca Nicola "
        "Silvio Tullio",
        "Giulia Chiara Francesca Martina Alessia Elisa Federica Silvia Paola Roberta Ilaria Ginevra Serena "
        "Donatella Pia",
        "Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo Conti Mancini "
        "Costa Giordano "
        "Rizzo Lombardi Moretti Barbieri Fontana Santoro Mariani Rinaldi Caruso Ferrara Galli Leone Longo "
        "Gentile",
        initials=False,
    ),
    _culture(  # Polish
        "Jakub Łukasz Piotr Tomasz Marcin Paweł Krzysztof Wojciech Grzegorz Michał Stanisław Zbigniew Bartosz Radosław",
        "Zofia Katarzyna Agnieszka Małgorzata Joanna Magdalena Ewelina Halina Justyna Beata Bożena Grażyna "
        "Kinga Weronika",
        "Nowak Kowalski Wiśniewski Wójcik Kowalczyk Kamiński Lewandowski Zieliński Szymański Woźniak "
        "Dąbrowski Kozłowski "
        "Jankowski Mazur Krawczyk Piotrowski Grabowski Pawlak Michalski Król Wieczorek Jabłoński Wróbel "
        "Stępień Górski",
        initials=True,
    ),
    _culture(  # Nordic
        "Erik Lars Søren Bjørn Anders Håkan Mikkel Jukka Antti Torsten Nils Rasmus Sven Øyvind Eero Gunnar",
        "Ingrid Astrid Freja Maja Sigrid Liv Annika Elin Tuuli Kirsten Solveig Hanne Åsa Päivi Ragnhild Signe",
        "Hansen Johansen Olsen Larsen Andersen Nilsen Johansson Lindberg Lindström Bergström Nyström Holm "
        "Dahl Berg "
        "Eklund Sjögren Virtanen Korhonen Nieminen Mäkelä Laine Heikkinen Sørensen Nygaard Østergaard Kjær "
        "Hagen Strand",
        initials=True,
    ),
    _culture(  # Arabic
        "Ahmed Omar Khalid Youssef Hassan Tariq Samir Karim Faisal Nabil Rashid Bilal Hisham Walid Ziad Anwar",
        "Fatima Layla Amina Nour Salma Huda Rania Yasmin Zaynab Dalal Samira Lubna Maha Noura Abeer Widad",
        "Haddad Mansour Khoury Nasser Saleh Farouk Hamdan Aziz Darwish Najjar Qasim Rahman Shahin Sabbagh "
        "Tawfiq Zahran "
        "Badawi Ghanem Issa Jaber Kanaan Masri Odeh Sayegh Taha Wahbi Hariri Bishara",
        initials=False,
    ),
    _culture(  # Nigerian
        "Chinedu Emeka Tunde Segun Obinna Kunle Femi Ikenna Uche Dayo Babatunde Nnamdi Olumide Kelechi Sola Chidi",
        "Ngozi Amara Folake Chioma Yetunde Adaeze Bukola Ifeoma Simisola Nneka Titilayo Abike Ebele "
        "Morenike Zainab Uju",
        "Okafor Adeyemi Eze Balogun Okonkwo Adebayo Nwosu Ogunleye Chukwu Afolabi Obi Olawale Nwachukwu "
        "Adeleke Uzoma "
        "Bello Oyelaran Ibekwe Akande Onyeka Fashola Igwe Oladipo Anyanwu Salami Ojo Umeh Danjuma",
        initials=False,
    ),
    _culture(  # Turkish
        "Mehmet Emre Burak Kerem Cem Okan Serkan Tolga Onur Yiğit Barış Çağlar Ozan Selim Uğur Volkan",
        "Ayşe Elif Zeynep Defne Selin Esra Gül Nihan Özlem Pınar Şebnem Tülay Ceren İpek Derya Sibel",
        "Yılmaz Kaya Demir Şahin Çelik Yıldız Aydın Öztürk Arslan Doğan Kılıç Aslan Çetin Koç Kurt Özdemir "
        "Şimşek Polat "
        "Erdoğan Korkmaz Tekin Güneş Aksoy Taş Bulut Keskin Ünal Güler",
        initials=False,
    ),
    _culture(  # English
        "James Oliver Thomas Henry Daniel Edward Callum Graham Nathan Simon Adrian Philip Rupert Martin Gareth Duncan",
        "Emily Charlotte Alice Rachel Fiona Harriet Megan Laura Heather Bridget Rosalind Imogen Eleanor "
        "Judith Tessa Hazel",
        "Smith Jones Taylor Brown Wilson Evans Walker Wright Robinson Thompson White Hughes Edwards Green "
        "Hall Clarke "
        "Turner Parker Bennett Carter Ward Foster Marsh Holloway Whitfield Ashworth Pemberton Thorne "
        "Langley Winslow",
        initials=True,
    ),
    _culture(  # Brazilian
        "João Rafael Thiago Caio Leandro Vinícius Gustavo Murilo Renato Otávio Fábio Cláudio Bruno Marcelo Márcio Ênio",
        "Ana Beatriz Larissa Fernanda Letícia Juliana Renata Tatiana Patrícia Luíza Débora Vitória Raquel "
        "Marília Aline",
        "Silva Santos Oliveira Souza Lima Pereira Ferreira Almeida Costa Ribeiro Carvalho Barbosa Rocha "
        "Cardoso Teixeira "
        "Correia Moura Nogueira Araújo Batista Freitas Vieira Monteiro Mendes Barros Campos Pinto Machado",
        initials=False,
    ),
)
