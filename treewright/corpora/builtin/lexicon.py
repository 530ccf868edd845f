"""The words of the built-in corpus, as tables.

Each table lists frequent words first: the n-th word of a class is drawn with a weight that falls with n, so
the words are skewed as in real text and the ends of the lists are rare. A noun is written

* ``man/men`` — with an irregular plural,
* ``phone=telephone`` — with a concept other than its lemma,
* ``teacher>teach-01`` — a person who does something: ``(p / person :ARG0-of (t / teach-01))``.

A verb is written ``see/saw/seen`` if it is irregular. Many forms stand in several tables on purpose (*saw*,
*watch*, *light*, *plan*, *can*): only the context can tell their tag. Senses follow the style of PropBank,
but were not checked against it.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Generic, NamedTuple, TypeVar

from treewright.corpora.builtin.morphology import gerund, past, plural, third_person

__all__ = [
    "CITIES",
    "COUNTRIES",
    "DEGREES",
    "FEMALE",
    "FREQUENCIES",
    "HANDLES",
    "LOCATIVES",
    "MALE",
    "MANNERS",
    "MODALS",
    "MODIFIERS",
    "MONTHS",
    "NUMERALS",
    "ORGANIZATIONS",
    "PLACES",
    "SUBORDINATORS",
    "SURNAMES",
    "UNITS",
    "WEEKDAYS",
    "Adjective",
    "Noun",
    "Pool",
    "Verb",
    "adjectives",
    "lexical_entries",
    "noun",
    "nouns",
    "verbs",
    "weighted",
]

T = TypeVar("T")


class Pool(Generic[T]):
    """Items with weights, to draw from. Uses only ``Random.random``, which is the same on every version of Python."""

    def __init__(self, items: Sequence[T], weights: Sequence[float] | None = None) -> None:
        self.items = items
        self.sums: list[float] = []
        total = 0.0
        for weight in weights or [1 / (rank + 2) for rank in range(len(items))]:
            total += weight
            self.sums.append(total)

    def __len__(self) -> int:
        return len(self.items)

    def draw(self, random: Random) -> T:
        """One of the items."""
        return self.items[bisect(self.sums, random.random() * self.sums[-1], 0, len(self.sums) - 1)]


def weighted(table: str) -> Pool[str]:
    """A pool from a text in which words and weights alternate.

    >>> weighted("the .7 a .3").items
    ['the', 'a']
    """
    cells = table.split()
    return Pool(cells[::2], [float(weight) for weight in cells[1::2]])


class Noun(NamedTuple):
    """A common noun; ``agent`` is the frame of a person who does something, else empty."""

    lemma: str
    plural: str
    concept: str
    agent: str
    kind: str


class Adjective(NamedTuple):
    """An adjective; a ``frame`` takes what it describes as ``:ARG1``, a plain concept is a ``:mod`` of it."""

    lemma: str
    concept: str

    @property
    def frame(self) -> bool:
        """Whether the concept is a frame such as ``happy-01``."""
        return self.concept[-1].isdigit()


class Verb(NamedTuple):
    """A verb in one of its frames: forms by Penn tag, sense, subjects and objects, and what the frame adds."""

    lemma: str
    forms: dict[str, str]
    sense: str
    role: str
    subjects: str
    objects: str
    extra: tuple[str, ...]
    frame: str
    stative: bool


NOUNS = """
person     man/men judge>judge-01 woman/women guard>guard-01 child/children guide>guide-01 teacher>teach-01
person     cook>cook-01 boy girl student>study-01 doctor worker>work-01 driver>drive-01 singer>sing-01 king
person     nurse writer>write-01 farmer>farm-01 soldier queen patient painter>paint-02 lawyer hunter>hunt-01
person     baker>bake-01 dancer>dance-01 visitor>visit-01 tourist thief/thieves pilot sailor>sail-01 poet
person     artist captain engineer prince reader>read-01 player>play-01 host>host-01 rival expert
organization company team club government
kin        friend brother sister mother father son daughter neighbor boss uncle aunt cousin
animal     dog cat bird horse duck fish/fish cow bear fly mouse/mice fox rabbit lion sheep/sheep wolf/wolves
animal     monkey goat elephant eagle owl bee
thing      watch light box can ring picture present phone=telephone ball bag gift toy clock glass cup match
thing      plate
thing      lamp bottle coin camera mirror candle vase drum statue
tool       saw key hammer telescope knife/knives brush stick pen fork rope spoon net axe pencil ladder broom
wear       hat coat umbrella bag watch stick ring scarf/scarves telescope camera uniform knife/knives
text       book report letter play story paper song note map poem newspaper article message novel email
food       apple cake sandwich fish/fish orange egg pizza potato/potatoes cookie salad
mass       bread rice meat soup cheese butter sugar
drink      water coffee tea milk juice wine
place      park garden street town room field forest village kitchen river beach market square island valley
building   house school station hospital hotel library church museum bank office factory theater castle shop
building   airport farm
vehicle    train car bus boat bike=bicycle ship truck plane taxi
surface    table desk bed floor chair bench shelf/shelves
plant      plant tree flower rose bush
idea       plan answer question offer=offer-01 promise=promise-01 dream=dream-01 problem name order=order-01
idea       claim=claim-01 idea rule hope=hope-01 decision=decide-01 fear=fear-01 mistake secret
event      dance=dance-01 walk=walk-01 party show visit=visit-01 game meeting=meet-03 match concert
event      race=race-02 trip
event      attack=attack-01 wedding
part       door window roof wall gate
"""

ADJECTIVES = """
any        big old small new little strange beautiful large ugly
person     happy=happy-01 young famous tall sad=sad-02 tired=tire-01 angry=angry-01 poor kind rich clever
person     sick=sick-05
person     patient old beautiful strange hungry=hungry-01 brave honest careful lazy polite=polite-01
person     nervous=nervous-01 calm
kin        old young kind clever rich tall happy=happy-01 generous
animal     black white brown wild fast hungry=hungry-01 fat lazy gray
thing      red heavy blue cheap=cheap-02 light=light-06 broken=break-01 expensive green round
thing      present=present-02
tool       heavy long sharp cheap=cheap-02 light=light-06 useful=useful-05
wear       red black blue green white
text       long short interesting=interest-01 boring=bore-02 useful=useful-05 sad clear=clear-06
food       fresh sweet cold hot=hot-05 delicious
mass       fresh hot=hot-05 cold delicious
drink      cold fresh hot=hot-05 warm
organization rich famous strong foreign
place      quiet=quiet-04 dark large green empty=empty-02 narrow
building   large quiet=quiet-04 modern dark empty=empty-02 white
vehicle    fast red slow=slow-05 expensive blue empty=empty-02
surface    long wooden=wood round low=low-04
plant      tall green dead=die-01
idea       good=good-02 bad=bad-04 important clear=clear-06 simple right=right-06 wrong=wrong-02 hard=hard-02
event      long good=good-02 short boring=bore-02 early late noisy
part       open wooden=wood white wide=wide-02
"""

COMPOUNDS = """
school     bus book library garden
coffee     cup shop table
garden     gate wall bench party
kitchen    table window light
train      station driver
birthday   party cake gift
stone      wall house
history    book teacher museum
city       park library hotel
fish       market soup
orange     juice cake
paper      bag plate hat
wedding    ring party dance
water      bottle plant
apple      cake tree juice
night      train bus guard
"""

# Frames. Each line: verb | sense | role of the subject | subjects | objects | what else the frame needs.
# "!" after a sense marks a state: it has no progressive.
VERBS = """
[transitive]        # extra: how strongly the verb draws a phrase after its object; "with" these tools
see/saw/seen      | see-01!      | ARG0 | animate       | visible event      | .25 telescope
watch             | watch-01     | ARG0 | animate       | person animal show dance game match | .3 telescope
like              | like-01!     | ARG0 | person        | person visible text event idea plant | .1
plan              | plan-01      | ARG0 | person organization | event              | .5
find/found/found  | find-01      | ARG0 | animate organization | visible idea       | .7
book              | book-01      | ARG0 | person        | room hotel taxi train | .6
judge             | judge-01     | ARG0 | person        | person idea        | .3
help              | help-01      | ARG0 | person organization | person             | .6
train             | train-01     | ARG0 | person organization | person dog horse   | .7
answer            | answer-01    | ARG0 | person        | question letter    | .6
guide             | guide-01     | ARG0 | person        | person             | .6
guard             | guard-01     | ARG0 | animate       | building part      | .4
paint             | paint-02     | ARG0 | person        | part surface person| .6 brush
open              | open-01      | ARG0 | person        | door window gate box | .9 key knife
love              | love-01!     | ARG0 | person        | person animal text | .1
light/lit/lit     | light-01     | ARG0 | person        | candle lamp        | .8 match
water             | water-01     | ARG0 | person        | plant              | .8
plant             | plant-01     | ARG0 | person        | plant              | .9
cook              | cook-01      | ARG0 | person        | mass fish egg      | .85
drink/drank/drunk | drink-01     | ARG0 | animate       | drink              | .8
buy/bought/bought | buy-01       | ARG0 | person organization | goods vehicle plant | .6
visit             | visit-01     | ARG0 | person        | person building place | .4
question          | question-01  | ARG0 | person        | person idea        | .5
park              | park-01      | ARG0 | person        | vehicle            | .95
read/read/read    | read-01      | ARG0 | person        | text               | .5
meet/met/met      | meet-02      | ARG0 | person        | person             | .8
call              | call-02      | ARG0 | person        | person             | .8
know/knew/known   | know-02!     | ARG0 | person        | person idea        | .05
eat/ate/eaten     | eat-01       | ARG0 | animate       | food mass          | .8 fork spoon knife
ship              | ship-01      | ARG0 | organization person | goods          | .7
name              | name-01      | ARG0 | person        | ship animal        | .4
hit/hit/hit       | hit-01       | ARG0 | person        | person thing part  | .8 stick hammer
ring/rang/rung    | ring-01      | ARG0 | person        | bell               | .8
write/wrote/written | write-01   | ARG0 | person        | text               | .6 pen pencil
follow            | follow-02    | ARG0 | animate       | animate vehicle    | .5
attack            | attack-01    | ARG0 | animate       | animate            | .5 knife stick
cut/cut/cut       | cut-01       | ARG0 | person        | plant food mass    | .8 knife saw axe
study             | study-01     | ARG0 | person        | text idea          | .8
clean             | clean-01     | ARG0 | person        | part surface building vehicle | .6 brush broom
carry             | carry-01     | ARG0 | person        | thing tool food    | .5
catch/caught/caught | catch-01   | ARG0 | animate       | animal ball thief  | .8 net rope
chase             | chase-01     | ARG0 | animate       | animal person      | .5
kiss              | kiss-01      | ARG0 | person        | person             | .7
thank             | thank-01     | ARG0 | person        | person             | .4
draw/drew/drawn   | draw-01      | ARG0 | person        | visible            | .4 pencil pen
fix               | fix-02       | ARG0 | person        | vehicle thing part | .8 hammer rope
build/built/built | build-01     | ARG0 | person organization | building ship      | .7
steal/stole/stolen| steal-01     | ARG0 | person        | thing vehicle food | .6
hide/hid/hidden   | hide-01      | ARG0 | person        | thing text tool    | .9
break/broke/broken| break-01     | ARG0 | person        | thing part         | .8 hammer stick
drive/drove/driven| drive-01     | ARG0 | person        | car bus truck taxi | .8
ride/rode/ridden  | ride-01      | ARG0 | person        | horse bike elephant| .9
feed/fed/fed      | feed-01      | ARG0 | person        | animal             | .8
remember          | remember-01! | ARG0 | person        | person text event idea | .1
forget/forgot/forgotten | forget-01! | ARG0 | person    | idea text event    | .2
hear/heard/heard  | hear-01!     | ARG0 | animate       | person song idea   | .4
need              | need-01!     | ARG0 | person organization | goods tool idea    | .2
use               | use-01       | ARG0 | person organization | tool vehicle thing | .6
win/won/won       | win-01       | ARG0 | person organization | game race match    | .7
duck              | duck-01      | ARG0 | person        | question           | .5
save              | save-02      | ARG0 | person        | animate            | .6 rope
support           | support-01!  | ARG0 | person organization | idea person        | .3
reject            | reject-01    | ARG0 | person organization | idea text          | .5
lose/lost/lost    | lose-02      | ARG0 | person        | thing wear game    | .8
push              | push-01      | ARG0 | animate       | vehicle surface    | .6
own               | own-01!      | ARG0 | person organization | building vehicle animal | .1
repair            | repair-01    | ARG0 | person        | vehicle clock      | .8
praise            | praise-01    | ARG0 | person organization | person text        | .4
[possessive]         # as the transitive ones, but without a passive
have/had/had      | have-03!     | ARG0 | person organization | goods animal idea  | .1
keep/kept/kept    | keep-01      | ARG0 | person        | goods animal idea  | .8
[intransitive]
sleep/slept/slept | sleep-01     | ARG0 | animate
dance             | dance-01     | ARG0 | person
play              | play-01      | ARG0 | person animal
cook              | cook-01      | ARG0 | person
fish              | fish-01      | ARG0 | person
dream             | dream-01     | ARG0 | person
fly/flew/flown    | fly-01       | ARG1 | bird bee eagle owl plane
sing/sang/sung    | sing-01      | ARG0 | person bird
work              | work-01      | ARG0 | person
laugh             | laugh-01     | ARG0 | person
arrive            | arrive-01    | ARG1 | person vehicle
run/ran/run       | run-02       | ARG0 | animate
leave/left/left   | leave-11     | ARG0 | person vehicle
wait              | wait-01      | ARG1 | person
fall/fell/fallen  | fall-01      | ARG1 | animate thing plant
swim/swam/swum    | swim-01      | ARG0 | animate
cry               | cry-02       | ARG0 | person
smile             | smile-01     | ARG0 | person
rest              | rest-01      | ARG0 | animate
break/broke/broken| break-01     | ARG1 | thing tool
stop              | stop-01      | ARG1 | vehicle clock
shine/shone/shone | shine-01     | ARG0 | light lamp
bark              | bark-01      | ARG0 | dog fox
study             | study-01     | ARG0 | person
jump              | jump-03      | ARG0 | animate
shout             | shout-01     | ARG0 | person
die               | die-01       | ARG1 | animate plant
[motion]            # extra: role of the goal, after "to"
go/went/gone      | go-02        | ARG0 | animate vehicle | place building  | ARG4
walk              | walk-01      | ARG0 | animate       | place building    | destination
come/came/come    | come-01      | ARG1 | animate       | building place    | ARG4
run/ran/run       | run-02       | ARG0 | animate       | building place    | destination
drive/drove/driven| drive-01     | ARG0 | person        | building place    | destination
return            | return-01    | ARG1 | person vehicle| building place    | ARG4
travel            | travel-01    | ARG0 | person        | place             | destination
hurry             | hurry-01     | ARG0 | person        | building          | destination
[prepositional]     # extra: the preposition, the role of its object
look              | look-01      | ARG0 | animate       | visible           | at ARG1
talk              | talk-01      | ARG0 | person        | person idea text event | about ARG1
wait              | wait-01      | ARG1 | person        | person vehicle    | for ARG2
listen            | listen-01    | ARG0 | animate       | person song       | to ARG1
laugh             | laugh-01     | ARG0 | person        | person idea       | at ARG2
think/thought/thought | think-01 | ARG0 | person        | idea person event | about ARG1
speak/spoke/spoken| speak-01     | ARG0 | person        | person            | to ARG2
play              | play-01      | ARG0 | person animal | toy ball dog      | with ARG1
believe           | believe-01!  | ARG0 | person        | person idea       | in ARG1
agree             | agree-01!    | ARG0 | person        | person            | with ARG2
depend            | depend-01!   | ARG0 | person idea   | idea person       | on ARG1
dream             | dream-01     | ARG0 | person        | person place      | about ARG1
worry             | worry-01     | ARG0 | person        | idea person       | about ARG1
fight/fought/fought | fight-01   | ARG0 | animate       | animate           | with ARG1
complain          | complain-01  | ARG0 | person        | idea mass event   | about ARG1
search            | search-01    | ARG0 | animate       | thing tool        | for ARG2
belong            | belong-01!   | ARG0 | thing vehicle | person            | to ARG1
[ditransitive]      # extra: the preposition of the other order
give/gave/given   | give-01      | ARG0 | person        | thing text food   | to
send/sent/sent    | send-01      | ARG0 | person organization | text gift         | to
show/showed/shown | show-01      | ARG0 | person        | thing text picture| to
tell/told/told    | tell-01      | ARG0 | person        | story secret      | to
offer             | offer-01     | ARG0 | person organization | food drink        | to
sell/sold/sold    | sell-01      | ARG0 | person organization | vehicle thing     | to
lend/lent/lent    | lend-01      | ARG0 | person        | tool vehicle      | to
bring/brought/brought | bring-01 | ARG0 | person        | drink food thing  | to
hand              | hand-01      | ARG0 | person        | tool text         | to
[particle]          # extra: the particle
pick              | pick-up-04   | ARG0 | person        | thing text tool   | up
turn              | turn-on-13   | ARG0 | person        | light lamp        | on
turn              | turn-off-05  | ARG0 | person        | light lamp        | off
put/put/put       | put-on-08    | ARG0 | person        | hat coat scarf uniform | on
throw/threw/thrown| throw-away-03| ARG0 | person        | text food thing   | away
call              | call-off-03  | ARG0 | person        | event             | off
cut/cut/cut       | cut-down-02  | ARG0 | person        | plant             | down
look              | look-up-05   | ARG0 | person        | answer name       | up
wake/woke/woken   | wake-up-02   | ARG0 | person        | person dog        | up
give/gave/given   | give-up-07   | ARG0 | person        | plan dream        | up
write/wrote/written | write-down-07 | ARG0 | person     | name answer idea  | down
[clausal]           # extra: "that" if it may not be dropped
say/said/said     | say-01       | ARG0 | person organization 
think/thought/thought | think-01! | ARG0 | person
know/knew/known   | know-01!     | ARG0 | person
believe           | believe-01!  | ARG0 | person
hope              | hope-01      | ARG0 | person organization 
see/saw/seen      | see-01!      | ARG0 | person        |                   | that
hear/heard/heard  | hear-01!     | ARG0 | person
forget/forgot/forgotten | forget-01! | ARG0 | person    |                   | that
claim             | claim-01     | ARG0 | person organization 
explain           | explain-01   | ARG0 | person        |                   | that
remember          | remember-01! | ARG0 | person        |                   | that
fear              | fear-01!     | ARG0 | person        |                   | that
report            | report-01    | ARG0 | person organization |                   | that
[infinitival]       # extra: the role of the infinitive; the subject does both things
want              | want-01!     | ARG0 | animate organization |                   | ARG1
try               | try-01       | ARG0 | animate organization |                   | ARG1
have/had/had      | obligate-01! | ARG1 | person        |                   | ARG2
need              | need-01!     | ARG0 | animate organization |                   | ARG1
hope              | hope-01      | ARG0 | person organization |                   | ARG1
plan              | plan-01      | ARG0 | person organization |                   | ARG1
like              | like-01!     | ARG0 | animate       |                   | ARG1
promise           | promise-01   | ARG0 | person organization |                   | ARG1
decide            | decide-01    | ARG0 | person organization |                   | ARG1
love              | love-01!     | ARG0 | animate       |                   | ARG1
refuse            | refuse-01    | ARG0 | animate organization |                   | ARG1
learn             | learn-01     | ARG0 | animate       |                   | ARG1
offer             | offer-01     | ARG0 | person organization |                   | ARG1
forget/forgot/forgotten | forget-01! | ARG0 | person    |                   | ARG1
manage            | manage-02    | ARG0 | animate       |                   | ARG1
[raising]           # the subject is only the infinitive's
seem              | seem-01!     |      | animate       |                   | ARG1
appear            | appear-02!   |      | animate       |                   | ARG1
continue          | continue-01! |      | animate       |                   | ARG1
tend              | tend-02!     |      | animate       |                   | ARG2
[causative]         # extra: roles of the object and of the infinitive, and who does it ("-": no role)
ask               | ask-02       | ARG0 | person organization | person            | ARG2 ARG1 object
tell/told/told    | tell-02      | ARG0 | person        | person            | ARG2 ARG1 object
persuade          | persuade-01  | ARG0 | person        | person            | ARG1 ARG2 object
help              | help-01      | ARG0 | person organization | person            | ARG2 ARG1 object
teach/taught/taught | teach-01   | ARG0 | person        | person dog        | ARG2 ARG1 object
order             | order-01     | ARG0 | person organization | person            | ARG2 ARG1 object
force             | force-01     | ARG0 | person organization | person            | ARG1 ARG2 object
allow             | allow-01     | ARG0 | person        | person dog        | - ARG1 object
promise           | promise-01   | ARG0 | person organization | person            | ARG2 ARG1 subject
train             | train-01     | ARG0 | person organization | person dog horse  | ARG2 ARG1 object
[gerundial]         # extra: the role of the gerund
like              | like-01!     | ARG0 | animate       |                   | ARG1
enjoy             | enjoy-01!    | ARG0 | animate       |                   | ARG1
stop              | stop-01      | ARG0 | animate       |                   | ARG1
start             | start-01     | ARG0 | animate       |                   | ARG1
avoid             | avoid-01     | ARG0 | animate       |                   | ARG1
finish            | finish-01    | ARG0 | person        |                   | ARG1
[measured]          # extra: kind of quantity, its role
cost/cost/cost    | cost-01!     | ARG1 | goods vehicle |                   | monetary ARG2
weigh             | weigh-01!    | ARG1 | thing animal  |                   | mass ARG3
last              | last-01!     | ARG1 | event         |                   | temporal ARG2
run/ran/run       | run-02       | ARG0 | animate       |                   | distance ARG1
walk              | walk-01      | ARG0 | animate       |                   | distance ARG1
[copular]
be/was/been       | be!          |      | any
"""

KINDS = {
    "animate": "person kin animal",
    "person": "person kin",
    "goods": "thing text food wear",
    "visible": "person animal thing building vehicle plant",
    "any": "person kin animal thing text food building vehicle place idea event surface plant part tool wear "
    "mass drink",
}

# Adjectives that take an infinitive: concept, role of who is described, role of the infinitive, who is
# missing in the infinitive (its subject or its object: "eager to please", "easy to please").
HANDLES = """
ready    ready-02     ARG1 ARG2 subject
able     possible-01  -    ARG1 subject
eager    eager-01     ARG0 ARG1 subject
likely   likely-01    -    ARG1 raised
easy     easy-05      -    ARG1 object
hard     hard-02      -    ARG1 object
"""

# preposition | what it goes with | concept ("-": none, the role :location says it all)
LOCATIVES = """
in     | place building      | -
near   | building plant river | near
on     | surface             | -
at     | station school market airport party meeting | -
behind | building plant      | behind
under  | table tree bed desk  | under
in     | vehicle box bag     | -
"""

SUBORDINATORS = """
because  cause-01
when     :time
if       :condition
after    after
before   before
while    :time
although :concession
until    until
"""

MODALS = """
can possible-01 ARG1 outside
must obligate-01 ARG2 inside
should recommend-01 ARG1 outside
may possible-01 ARG1 inside
might possible-01 ARG1 inside
could possible-01 ARG1 outside
"""

PLACES = "there here outside"
MANNERS = """
quickly=quick-02 slowly=slow-05 carefully=careful well=good-02 quietly=quiet-04 hard=hard-02 happily=happy-01
fast=fast-02 badly=bad-04 loudly=loud together alone
"""
FREQUENCIES = "often always sometimes never usually rarely"
DEGREES = "very too really quite"
_NUMERALS = """
two 2 three 3 four 4 five 5 ten 10 six 6 seven 7 twenty 20 eight 8 twelve 12 nine 9 thirty 30 fifty 50
eleven 11 forty 40 fifteen 15 sixty 60
"""
NUMERALS = dict(zip(_NUMERALS.split()[::2], _NUMERALS.split()[1::2], strict=True))
"""The number words and their values."""

UNITS = {
    "monetary": "dollar euro pound cent",
    "mass": "pound kilo=kilogram ton gram",
    "temporal": "hour day week minute month year",
    "distance": "mile kilometer meter block",
    "volume": "cup glass bottle",
}

FEMALE = "Mary Anna Grace Rose Julia Emma Laura Alice Sarah Clara May Ruth Nora Helen Irene Olga Ingrid Zoe"
MALE = "John Will Mark Bill Peter Frank Tom Paul David Adam Henry Jack Oscar Simon Felix Boris Hugo Ivan"
SURNAMES = (
    "Smith Brown King Baker Young Cook Stone Hill Field Rivers",
    "Ash Black Brad Car Dun Elm Far Gold Har Hol Kings Lang Mar Nor Red Sher Thorn Wake West Wood",
    "berg bridge by dale field ford ham hurst ley low man more son stead ton well win wood worth wright",
)
"""Whole family names; beginnings and endings of the others, an open class."""
CITIES = """
London | Paris | New York | Rome | Los Angeles | Boston | San Marco | Berlin | Cape Town | Oslo | Hong Kong
Lima | Salt Lake City | Vienna | Mexico City | Porto Alegre | Dakar | Saint Petersburg
"""
COUNTRIES = "France | Italy | Spain | New Zealand | Japan | Peru | South Korea | Kenya | Sri Lanka | Norway"
ORGANIZATIONS = """
organization Red Cross | organization United Nations | company Apple | university Oxford University
company Green Light Films | university Cambridge College | organization World Bank | company Hill Brothers
company Stone Bridge Books | museum National Gallery | newspaper Morning Star | company River Trains
"""
MONTHS = "January February March April May June July August September October November December"
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


def _noun(text: str, kind: str) -> Noun:
    text, _, agent = text.partition(">")
    text, _, concept = text.partition("=")
    lemma, _, irregular = text.partition("/")
    return Noun(lemma, irregular or plural(lemma), "person" if agent else concept or lemma, agent, kind)


def _adjective(text: str) -> Adjective:
    lemma, _, concept = text.partition("=")
    return Adjective(lemma, concept or lemma)


def _grouped(table: str) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for line in table.split("\n"):
        if line:
            key, *words = line.split()
            rows.setdefault(key, []).extend(words)
    return rows


_NOUNS = {kind: [_noun(text, kind) for text in words] for kind, words in _grouped(NOUNS).items()}
_BY_LEMMA = {noun.lemma: noun for nouns in reversed(_NOUNS.values()) for noun in nouns}
MODIFIERS: dict[str, list[Noun]] = {}
"""The nouns that can modify a noun: *school bus*."""
for _modifier, _heads in _grouped(COMPOUNDS).items():
    for _head in _heads:
        MODIFIERS.setdefault(_head, []).append(_BY_LEMMA.get(_modifier) or _noun(_modifier, "thing"))
_ADJECTIVES = {kind: [_adjective(text) for text in words] for kind, words in _grouped(ADJECTIVES).items()}


def _kinds(expression: str) -> Iterator[str]:
    for word in expression.split():
        yield from KINDS.get(word, word).split()


def noun(lemma: str) -> Noun:
    """The noun with this lemma; one that is in no table (the *bell* of *ring the bell*) is a plain thing."""
    return _BY_LEMMA.get(lemma) or _noun(lemma, "thing")


@cache
def nouns(expression: str) -> Pool[Noun]:
    """The nouns that an expression such as ``"person dog"`` names: kinds, groups of kinds, single nouns."""
    items: list[Noun] = []
    weights: list[float] = []
    for kind in dict.fromkeys(_kinds(expression)):
        members = _NOUNS.get(kind) or [noun(kind)]
        scale = 1.0 if len(members) > 1 else 0.2
        items += members
        weights += [scale / (rank + 2) for rank in range(len(members))]
    return Pool(items, weights)


@cache
def adjectives(kind: str) -> Pool[Adjective]:
    """The adjectives that go with nouns of a kind: its own ones, then those that go with anything."""
    own = _ADJECTIVES.get(kind, [])
    others = [] if kind in ("person", "kin", "organization", "mass", "drink") else _ADJECTIVES["any"]
    return Pool(own + others, [1 / (rank + 2) for rank in range(len(own))] + [0.12] * len(others))


def _verb(line: str, frame: str) -> Verb:
    columns = [column.strip() for column in line.split("|")] + [""] * 3
    lemma, *irregular = columns[0].split("/")
    before, participle = irregular or [past(lemma)] * 2
    thirds = {"have": "has", "be": "is"}
    forms = {"VB": lemma, "VBP": lemma, "VBZ": thirds.get(lemma) or third_person(lemma)}
    forms |= {"VBD": before, "VBN": participle, "VBG": "being" if lemma == "be" else gerund(lemma)}
    _, sense, role, subjects, objects, extra = columns[:6]
    return Verb(
        lemma=lemma,
        forms=forms,
        sense=sense.rstrip("!"),
        role=role and f":{role}",
        subjects=subjects,
        objects=objects,
        extra=tuple(extra.split()),
        frame=frame,
        stative=sense.endswith("!"),
    )


def _verbs() -> dict[str, list[Verb]]:
    frames: dict[str, list[Verb]] = {}
    frame = ""
    for line in VERBS.strip().split("\n"):
        if line.startswith("["):
            frame = line[1:].partition("]")[0]
        else:
            frames.setdefault(frame, []).append(_verb(line, frame))
    return frames


_VERBS = _verbs()


@cache
def verbs(frame: str, subject: str = "", thing: str = "") -> Pool[Verb]:
    """The verbs of a frame, or only those that a noun (given as "kind lemma") can be subject or object of."""

    def fits(expression: str, given: str) -> bool:
        return not given or not set(_kinds(expression)).isdisjoint(given.split())

    found = [
        (verb, 1 / (rank + 3))
        for rank, verb in enumerate(_VERBS[frame])
        if fits(verb.subjects, subject) and fits(verb.objects, thing)
    ]
    return Pool([verb for verb, _ in found], [weight for _, weight in found])


def lexical_entries() -> int:
    """The number of entries in the tables of open-class words, without names."""
    sizes = [len(nouns) for nouns in _NOUNS.values()] + [len(words) for words in _ADJECTIVES.values()]
    sizes += [len(verbs) for verbs in _VERBS.values()]
    return sum(sizes) + len(" ".join([MANNERS, PLACES, FREQUENCIES, DEGREES]).split()) + len(NUMERALS)
