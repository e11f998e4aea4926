"""Verbs of the embedded corpus, one line a lexeme; `grammar_words` says how lines are read."""

from __future__ import annotations

from aiayn.data.grammar.lexicon import KINDS
from aiayn.data.grammar.words import Verb, parse_verb

_VERBS = """
    sleep slept slept | schlafen schläft schlief geschlafen | person animal | | lasting easy
    work | arbeiten | person | | lasting easy
    laugh | lachen | person | | easy
    dance | tanzen | person | | easy
    sing sang sung | singen singt sang gesungen | person bird | | easy
    cook | kochen | person | | easy
    play | spielen | person dog cat | | easy
    cry | weinen | person | | easy
    smile | lächeln | person | | easy
    rest | aus+ruhen | person animal | | sich easy
    go+shopping went gone | ein+kaufen | person | | easy
    get+up got got | auf+stehen steht stand gestanden | person | | sein
    wake+up woke woken | auf+wachen | person animal | | sein
    fall+asleep fell fallen | ein+schlafen schläft schlief geschlafen | person animal | | sein
    arrive | an+kommen kommt kam gekommen | person train bus ship boat | | sein place
    begin began begun | an+fangen fängt fing gefangen | event | |
    end | enden | event | |
    go went gone | gehen geht ging gegangen | person | | sein goal
    run ran run | laufen läuft lief gelaufen | person animal | | sein goal easy
    hurry | eilen | person | | sein goal
    jump | springen springt sprang gesprungen | child boy girl animal | | sein onto
    climb | klettern | person cat bear | | sein onto easy
    travel travelled travelled | reisen | person | | sein journey
    drive drove driven | fahren fährt fuhr gefahren | person | | sein journey
    come+back came come | zurück+kommen kommt kam gekommen | person | | sein source
    stand stood stood | stehen steht stand gestanden | person furniture vehicle | | place lasting stative
    lie lay lain | liegen liegt lag gelegen | text thing clothing cat dog | | surface lasting stative
    sit sat sat | sitzen sitzt saß gesessen | person cat dog bird mouse | | surface lasting
    live | wohnen | person | | place lasting stative
    stay | bleiben bleibt blieb geblieben | person | | sein place
    read read read | lesen liest las gelesen | person | text | easy
    write wrote written | schreiben schreibt schrieb geschrieben | person | text | easy
    buy bought bought | kaufen | person | book newspaper food drink thing device clothing furniture vehicle | easy
    sell sold sold | verkaufen | person | book newspaper food drink thing device clothing furniture vehicle |
    see saw seen | sehen sieht sah gesehen | person animal | person animal thing vehicle film ground | stative
    find found found | finden findet fand gefunden | person | thing text clothing mistake answer animal | stative
    look:for | suchen | person | thing text clothing person dog cat answer |
    lose lost lost | verlieren verliert verlor verloren | person | bag key umbrella ring ball hat letter map game |
    carry | tragen trägt trug getragen | person | thing chair lamp computer |
    eat ate eaten | essen isst aß gegessen | person animal | food | easy
    drink drank drunk | trinken trinkt trank getrunken | person | drink | easy
    open | öffnen | person | opening box bottle letter suitcase gift |
    close | schließen schließt schloss geschlossen | person | opening box suitcase |
    clean | putzen | person | window kitchen shoe cupboard school church office | easy
    repair | reparieren | person | device vehicle chair bed door roof | easy
    paint | malen | person | picture flower |
    wash | waschen wäscht wusch gewaschen | person | clothing car cup plate dog | easy
    know knew known | kennen kennt kannte gekannt | person | person text song city village rule | stative lasting
    love | lieben | person | person | stative
    visit | besuchen | person | person museum city castle church school | easy
    meet met met | treffen trifft traf getroffen | person | person | stative easy
    greet | grüßen | person | person |
    ask | fragen | person | person | easy
    hear heard heard | hören | person animal | person song dog bird noise concert | stative
    understand understood understood | verstehen versteht verstand verstanden | person | person abstract text | stative
    forget forgot forgotten | vergessen vergisst vergaß vergessen | person | bag key umbrella answer word rule | stative
    use | benutzen | person | device knife map bicycle | easy
    need | brauchen | person | person thing device clothing food drink vehicle | stative
    build built built | bauen | person | house bridge ship church school machine | easy
    draw drew drawn | zeichnen | person | picture map flower animal | easy
    hide hid hidden | verstecken | person | thing letter |
    admire | bewundern | person | person picture castle | stative
    steal stole stolen | stehlen stiehlt stahl gestohlen | person fox | ring bag picture car bicycle egg |
    have had had | haben hat hatte gehabt | person | animal thing device vehicle idea question problem | stative
    own | besitzen besitzt besaß besessen | person | house hotel factory restaurant vehicle animal | stative
    observe | beobachten | person animal | person animal |
    solve | lösen | person | problem exercise | easy
    pay paid paid | bezahlen | person | gardener baker musician customer | easy
    call | an+rufen ruft rief gerufen | person | person | easy
    pick+up | ab+holen | person | person gift suitcase letter | easy
    throw+away threw thrown | weg+werfen wirft warf geworfen | person | thing text food clothing |
    invite | ein+laden lädt lud geladen | person | person | easy
    bring+along brought brought | mit+bringen bringt brachte gebracht | person | person dog food drink thing book |
    turn+on | ein+schalten | person | device | easy
    turn+off | aus+schalten | person | device |
    put+on put put | an+ziehen zieht zog gezogen | person | clothing |
    tidy+up | auf+räumen | person | kitchen room office cellar | easy
    look:at | an+schauen | person | picture film castle map | easy
    prepare | vor+bereiten | person | soup party meeting journey wedding | easy
    help | helfen hilft half geholfen | person | person | dative easy
    thank | danken | person | person | dative easy
    follow | folgen | person animal | person animal | dative sein
    answer | antworten | person | person | dative
    trust | vertrauen | person | person | dative stative
    belong:to | gehören | thing device clothing vehicle dog cat horse | person | dative stative
    like | gefallen gefällt gefiel gefallen | person | text song picture room film clothing | crossed stative
    give gave given | geben gibt gab gegeben | person | text thing food | recipient
    show showed shown | zeigen | person | thing text ring clothing | recipient easy
    send sent sent | schicken | person | text gift picture flower | recipient
    bring brought brought | bringen bringt brachte gebracht | person | food drink thing newspaper letter | recipient
    lend lent lent | leihen leiht lieh geliehen | person | book umbrella bicycle car guitar camera | recipient
    tell told told | erzählen | person | story | recipient easy
    explain | erklären | person | abstract game | recipient to easy
    wait:for | warten:auf/accusative | person | person train bus taxi answer letter | lasting easy
    think:of thought thought | denken:an/accusative denkt dachte gedacht | person | person event journey |
    talk:about | sprechen:über/accusative spricht sprach gesprochen | person | person text event abstract | easy
    talk:to | sprechen:mit/dative spricht sprach gesprochen | person | person | easy
    dream:of | träumen:von/dative | person animal | person house car wedding journey | easy
    laugh:about | lachen:über/accusative | person | person mistake story film |
    ask:about | fragen:nach/dative | person | person key rule answer |
    remember | erinnern:an/accusative | person | person event abstract | sich stative
    complain:about | beschweren:über/accusative | person | noise food person exam | sich easy
    take+part:in took taken | teil+nehmen:an/dative nimmt nahm genommen | person | meeting exam game | easy"""

_REPORTING = """
    know knew known | wissen weiß wusste gewusst | person | | stative that
    believe | glauben | person | | stative that
    say said said | sagen | person | | stative that
    hope | hoffen | person | | stative that present
    think thought thought | denken denkt dachte gedacht | person | | stative that
    ask | fragen | person | | stative whether
    try | versuchen | person | | infinitive
    promise | versprechen verspricht versprach versprochen | person | | stative infinitive
    forget forgot forgotten | vergessen vergisst vergaß vergessen | person | | stative infinitive
    decide | beschließen beschließt beschloss beschlossen | person | | stative infinitive
    refuse | weigern | person | | sich stative infinitive"""

VERBS: tuple[Verb, ...] = tuple(parse_verb(line, KINDS) for line in _VERBS.strip().splitlines())
"""Verbs of doing and being somewhere."""
REPORTING: tuple[Verb, ...] = tuple(parse_verb(line, KINDS) for line in _REPORTING.strip().splitlines())
"""Verbs that take a clause."""
