"""Nouns and adjectives of the embedded corpus, one line a lexeme; `grammar_words` says how lines are read."""

from __future__ import annotations

from aiayn.data.grammar.words import Adjective, Noun, parse_adjectives, parse_nouns

_NOUNS: dict[str, str] = {
    "person": """
        man/men m Mann es Männer
        woman/women f Frau - Frauen
        child/children n Kind es Kinder
        boy m Junge n Jungen
        girl n Mädchen s Mädchen
        mother f Mutter - Mütter
        father m Vater s Väter
        brother m Bruder s Brüder
        sister f Schwester - Schwestern
        son m Sohn es Söhne
        daughter f Tochter - Töchter
        uncle m Onkel s Onkel
        aunt f Tante - Tanten
        grandmother f Großmutter - Großmütter
        grandfather m Großvater s Großväter
        friend m Freund es Freunde
        neighbour m Nachbar n Nachbarn
        teacher m Lehrer s Lehrer
        doctor f Ärztin - Ärztinnen
        student m Student en Studenten
        farmer m Bauer n Bauern
        king m König s Könige
        queen f Königin - Königinnen
        judge f Richterin - Richterinnen
        singer f Sängerin - Sängerinnen
        author f Autorin - Autorinnen
        engineer f Ingenieurin - Ingenieurinnen
        colleague m Kollege n Kollegen
        customer m Kunde n Kunden
        guest m Gast es Gäste
        baker m Bäcker s Bäcker
        gardener m Gärtner s Gärtner
        policeman/policemen m Polizist en Polizisten
        artist f Künstlerin - Künstlerinnen
        musician m Musiker s Musiker
        scientist f Wissenschaftlerin - Wissenschaftlerinnen""",
    "animal": """
        dog m Hund es Hunde
        cat f Katze - Katzen
        horse n Pferd es Pferde
        bird m Vogel s Vögel
        cow f Kuh - Kühe
        pig n Schwein s Schweine
        mouse/mice f Maus - Mäuse
        bear m Bär en Bären
        fox m Fuchs es Füchse
        lion m Löwe n Löwen""",
    "text": """
        book n Buch es Bücher
        letter m Brief es Briefe
        newspaper f Zeitung - Zeitungen
        report m Bericht s Berichte
        novel m Roman s Romane
        story f Geschichte - Geschichten
        poem n Gedicht s Gedichte
        article m Artikel s Artikel
        message f Nachricht - Nachrichten""",
    "food": """
        apple m Apfel s Äpfel
        egg n Ei es Eier
        cake m Kuchen s Kuchen
        potato/potatoes f Kartoffel - Kartoffeln
        orange f Orange - Orangen
        pear f Birne - Birnen
        sausage f Wurst - Würste
        tomato/tomatoes f Tomate - Tomaten
        soup f Suppe - Suppen
        bread n Brot es -
        cheese m Käse s -
        meat n Fleisch es -
        rice m Reis es -
        fruit n Obst es -""",
    "drink": """
        water n Wasser s -
        milk f Milch - -
        coffee m Kaffee s -
        tea m Tee s -
        beer n Bier s -
        wine m Wein s -
        juice m Saft es -""",
    "thing": """
        bag f Tasche - Taschen
        key m Schlüssel s Schlüssel
        picture n Bild es Bilder
        umbrella m Regenschirm s Regenschirme
        cup f Tasse - Tassen
        knife/knives n Messer s Messer
        box f Kiste - Kisten
        suitcase m Koffer s Koffer
        gift n Geschenk s Geschenke
        map f Karte - Karten
        flower f Blume - Blumen
        ball m Ball es Bälle
        glass n Glas es Gläser
        bottle f Flasche - Flaschen
        spoon m Löffel s Löffel
        plate m Teller s Teller
        blanket f Decke - Decken
        guitar f Gitarre - Gitarren
        ring m Ring es Ringe""",
    "device": """
        lamp f Lampe - Lampen
        clock f Uhr - Uhren
        phone n Telefon s Telefone
        computer m Computer s Computer
        camera f Kamera - Kameras
        machine f Maschine - Maschinen""",
    "clothing": """
        coat m Mantel s Mäntel
        hat m Hut es Hüte
        shirt n Hemd es Hemden
        dress n Kleid es Kleider
        shoe m Schuh s Schuhe
        jacket f Jacke - Jacken""",
    "furniture": """
        table m Tisch es Tische
        chair m Stuhl s Stühle
        bed n Bett es Betten
        cupboard m Schrank s Schränke
        sofa n Sofa s Sofas
        bench f Bank - Bänke
        carpet m Teppich s Teppiche""",
    "opening": """
        door f Tür - Türen
        window n Fenster s Fenster
        gate n Tor s Tore""",
    "vehicle": """
        car n Auto s Autos
        train m Zug s Züge
        bus m Bus ses Busse
        ship n Schiff s Schiffe
        boat n Boot s Boote
        lorry m Lastwagen s Lastwagen
        taxi n Taxi s Taxis
        bicycle n Fahrrad s Fahrräder""",
    "room": """
        house n Haus es Häuser
        garden m Garten s Gärten
        kitchen f Küche - Küchen
        room n Zimmer s Zimmer
        school f Schule - Schulen
        church f Kirche - Kirchen
        city f Stadt - Städte
        village n Dorf es Dörfer
        forest m Wald es Wälder
        park m Park s Parks
        museum n Museum s Museen
        hotel n Hotel s Hotels
        hospital n Krankenhaus es Krankenhäuser
        library f Bibliothek - Bibliotheken
        restaurant n Restaurant s Restaurants
        office n Büro s Büros
        factory f Fabrik - Fabriken
        theatre n Theater s Theater
        shop m Laden s Läden
        cellar m Keller s Keller
        castle n Schloss es Schlösser
        valley n Tal s Täler""",
    "stop": """
        station m Bahnhof s Bahnhöfe
        lake m See s Seen
        river m Fluss es Flüsse
        harbour m Hafen s Häfen
        beach m Strand s Strände
        airport m Flughafen s Flughäfen""",
    "ground": """
        hill m Hügel s Hügel
        mountain m Berg es Berge
        bridge f Brücke - Brücken
        roof n Dach es Dächer
        island f Insel - Inseln
        tower m Turm s Türme""",
    "abstract": """
        problem n Problem s Probleme
        question f Frage - Fragen
        answer f Antwort - Antworten
        idea f Idee - Ideen
        plan m Plan s Pläne
        word n Wort es Wörter
        rule f Regel - Regeln
        mistake m Fehler s Fehler
        exercise f Aufgabe - Aufgaben""",
    "song": "song n Lied es Lieder",
    "event": """
        party n Fest es Feste
        concert n Konzert s Konzerte
        meeting f Sitzung - Sitzungen
        journey f Reise - Reisen
        exam f Prüfung - Prüfungen
        wedding f Hochzeit - Hochzeiten
        game n Spiel s Spiele
        film m Film s Filme""",
    "weather": """
        rain m Regen s -
        snow m Schnee s -
        storm m Sturm es -
        noise m Lärm s -
        heat f Hitze - -
        fog m Nebel s -""",
    "money": "euro m Euro s Euro",
    "period": """
        day m Tag es Tage
        week f Woche - Wochen
        month m Monat s Monate
        year n Jahr es Jahre""",
}

_ADJECTIVES = """
    old older | alt älter | person animal text thing device clothing furniture vehicle room ground opening song
    young younger | jung jünger | person animal
    tall taller | groß größer | person
    big bigger | groß größer | animal thing furniture vehicle room opening machine
    small smaller | klein | person animal thing device furniture vehicle room ground opening
    strong stronger | stark stärker | person animal
    tired | müde | person animal
    happy happier | glücklich | person
    sad sadder | traurig | person text song film
    sick sicker | krank kränker | person animal
    rich richer | reich | person
    poor poorer | arm ärmer | person
    friendly friendlier | freundlich | person
    famous | berühmt | person text room song
    hungry hungrier | hungrig | person animal
    lazy lazier | faul | person animal
    brave braver | mutig | person
    clever cleverer | klug klüger | person animal
    nervous | nervös | person animal
    curious | neugierig | person animal
    polite politer | höflich | person
    new newer | neu | text thing device clothing furniture vehicle room opening idea plan rule song
    beautiful | schön | thing clothing furniture room ground song wedding
    ugly uglier | hässlich | thing clothing furniture room
    expensive | teuer/teur teurer | thing device clothing furniture vehicle food drink
    cheap cheaper | billig | thing device clothing furniture vehicle food drink
    heavy heavier | schwer | thing device furniture opening
    clean cleaner | sauber | thing clothing vehicle room
    dirty dirtier | schmutzig | thing clothing vehicle room opening animal
    empty emptier | leer | bottle glass cup box suitcase plate room vehicle
    broken | kaputt kaputter | device vehicle chair bed clock door window
    dark darker | dunkel/dunkl dunkler | room
    modern | modern | device room vehicle furniture
    quiet quieter | ruhig | room beach lake person
    cold colder | kalt kälter | food drink room
    warm warmer | warm wärmer | clothing soup milk bread room
    fresh fresher | frisch | food milk juice
    sweet sweeter | süß | fruit apple orange pear cake tea wine
    delicious | köstlich | food
    high higher | hoch/hoh höher | ground gate
    long longer | lang länger | text event bridge song
    short shorter | kurz kürzer | text event song answer
    difficult | schwierig | abstract exam text
    easy easier | einfach | problem question exercise rule exam
    important | wichtig | abstract event text
    interesting | interessant | text abstract event museum city
    good better | gut besser | text food drink idea plan answer film concert
    bad worse | schlecht schlechter | text idea plan answer film
    boring | langweilig | text event
    useful | nützlich | device thing book answer
    strange stranger | seltsam | text abstract song person"""

_COLOURS = """
    red redder | rot röter | thing clothing furniture vehicle
    blue bluer | blau | thing clothing furniture vehicle
    green greener | grün | thing clothing furniture vehicle
    black blacker | schwarz schwärzer | clothing furniture vehicle animal
    white whiter | weiß | thing clothing furniture vehicle animal
    yellow yellower | gelb | thing clothing vehicle
    brown browner | braun | furniture animal clothing
    German | deutsch | text film vehicle song artist musician author
    French | französisch | text film vehicle song cheese wine
    English | englisch | text film song tea
    Italian | italienisch | food wine coffee film clothing"""


def _index_nouns() -> dict[str, tuple[Noun, ...]]:
    by_kind = {kind: tuple(parse_nouns(kind, lines)) for kind, lines in _NOUNS.items()}
    by_noun = {noun.english: (noun,) for nouns in by_kind.values() for noun in nouns}
    # A kind with a noun of the same name ("room") means the kind.
    return by_noun | by_kind


def _index_adjectives(lines: str) -> dict[Noun, tuple[Adjective, ...]]:
    by_noun: dict[Noun, dict[Adjective, None]] = {noun: {} for nouns in KINDS.values() for noun in nouns}
    for adjective, kinds in parse_adjectives(lines):
        for kind in kinds:
            for noun in KINDS[kind]:
                by_noun[noun][adjective] = None
    return {noun: tuple(adjectives) for noun, adjectives in by_noun.items()}


_KIN = (
    "mother father brother sister son daughter uncle aunt grandmother grandfather friend neighbour teacher doctor "
    "colleague customer guest"
)
KINDS = _index_nouns()
"""Nouns by kind, and each noun alone by its English name."""
KIN = frozenset(KINDS[name][0] for name in _KIN.split())
"""Persons who are someone's."""
ADJECTIVES = _index_adjectives(_ADJECTIVES)
"""The adjectives that go with a noun."""
PASSING = frozenset(
    {"tired", "happy", "sad", "sick", "hungry", "nervous", "quiet", "clean", "dirty", "empty", "cold", "warm"}
)
"""Adjectives, in English, of what lasts for a while only."""
COLOURS = _index_adjectives(_COLOURS)
"""Those that stand next to the noun when there are two: colours and nationalities."""
