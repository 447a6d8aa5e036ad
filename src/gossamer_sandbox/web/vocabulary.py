"""The words sample pages are filled with, by language: none of them is part of any keyword.

Japanese is written in pieces instead of words, and shares no letter at all with the Japanese keywords.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a page's furniture: the words around the content."""

    home: str
    search: str
    more: str
    following: str
    contact: str
    legal: str
    related: str
    written: str
    price: str
    share: str
    letter: str
    missing: str


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WORDS: Mapping[str, tuple[str, ...]] = {
    "en": _words(
        """a the and with under over between along after before again often rarely slowly quickly almost
        every each some many few other another quiet bright narrow heavy gentle distant early late warm
        cold dry wet green yellow silver wooden harbour lantern meadow valley bridge garden window
        kitchen corner station river stone island forest cloud letter paper pencil basket ladder kettle
        candle blanket mirror pocket button ribbon feather anchor compass sailor baker gardener painter
        neighbour traveller teacher writer child walks carries opens closes finds keeps leaves brings
        follows gathers measures mends paints plants counts shows turns waits watches listens remembers
        forgets promises morning evening winter summer autumn spring weather season journey story
        chapter page evidence answer question method result pattern surface detail balance effort reason
        value moment hour week century village street square tower cellar attic roof chimney fence gate
        path road hill field orchard"""
    ),
    "de": _words(
        """der die das und mit unter über zwischen entlang nach vor wieder oft selten langsam schnell
        beinahe jeder einige viele wenige andere stille helle schmale schwere sanfte ferne frühe späte
        warme kalte trockene nasse grüne gelbe Hafen Laterne Wiese Tal Brücke Garten Fenster Küche Ecke
        Bahnhof Fluss Stein Insel Wald Wolke Brief Papier Stift Korb Leiter Kessel Kerze Decke Spiegel
        Tasche Knopf Band Feder Anker Kompass Bäcker Gärtner Maler Nachbar Reisender Lehrerin Schreiber
        Kind geht trägt öffnet schließt findet behält verlässt bringt folgt sammelt misst flickt malt
        pflanzt zählt zeigt dreht wartet hört erinnert vergisst verspricht Morgen Abend Winter Sommer
        Herbst Frühling Wetter Reise Kapitel Seite Antwort Frage Ergebnis Muster Fläche Stunde Woche
        Dorf Straße Platz Turm"""
    ),
    "fr": _words(
        """le la les un une et avec sous sur entre après avant encore souvent rarement lentement vite
        presque chaque quelques plusieurs peu autre calme clair étroit lourd doux lointain tôt tard
        chaud froid sec mouillé vert jaune port lanterne prairie vallée pont jardin fenêtre cuisine coin
        gare rivière pierre île forêt nuage lettre papier crayon panier échelle bouilloire bougie
        couverture miroir poche bouton ruban plume ancre boussole marin boulanger jardinier peintre
        voisin voyageur élève porte ouvre ferme trouve garde laisse apporte suit ramasse mesure répare
        peint plante compte montre tourne attend regarde écoute oublie promet matin soir hiver été
        automne printemps temps saison voyage histoire chapitre page réponse question résultat motif
        surface heure semaine village rue place tour"""
    ),
    "es": _words(
        """el la los una y con bajo sobre entre tras antes otra vez despacio rápido casi cada algunos
        muchos pocos otro tranquilo claro estrecho pesado suave lejano temprano tarde cálido frío seco
        mojado verde amarillo puerto farol prado valle puente jardín ventana cocina esquina estación río
        piedra isla bosque nube carta papel lápiz cesta escalera tetera vela manta espejo bolsillo botón
        cinta pluma ancla brújula marinero panadero jardinero pintor vecino viajero maestra niño camina
        lleva abre cierra encuentra guarda deja trae sigue recoge mide arregla pinta planta cuenta
        muestra gira espera mira escucha recuerda olvida promete mañana noche invierno verano otoño
        primavera tiempo viaje historia capítulo página respuesta pregunta resultado hora semana aldea
        calle plaza torre"""
    ),
    "pl": _words(
        """i oraz z pod nad między wzdłuż po przed znowu często rzadko powoli szybko prawie każdy kilka
        wiele mało inny cichy jasny wąski ciężki łagodny daleki wczesny późny ciepły zimny suchy mokry
        zielony żółty port latarnia łąka dolina most ogród okno kuchnia róg dworzec rzeka kamień wyspa
        las chmura list papier ołówek koszyk drabina czajnik świeca koc lustro kieszeń guzik wstążka
        pióro kotwica kompas żeglarz piekarz ogrodnik malarz sąsiad podróżnik dziecko idzie niesie
        otwiera zamyka znajduje trzyma zostawia przynosi zbiera mierzy naprawia maluje sadzi liczy
        pokazuje czeka słucha pamięta zapomina obiecuje poranek wieczór zima lato jesień wiosna pogoda
        podróż rozdział strona odpowiedź pytanie wynik godzina tydzień wieś ulica plac wieża"""
    ),
    "ru": _words(
        """и с под над между вдоль после перед снова часто редко медленно быстро почти каждый несколько
        много мало другой тихий ясный узкий тяжёлый мягкий далёкий ранний поздний тёплый холодный сухой
        мокрый зелёный жёлтый гавань фонарь луг долина мост сад окно кухня угол вокзал река камень
        остров лес облако письмо бумага карандаш корзина лестница чайник свеча одеяло зеркало карман
        пуговица лента перо якорь компас моряк пекарь садовник художник сосед путешественник ребёнок
        идёт несёт открывает закрывает находит хранит оставляет приносит собирает измеряет чинит рисует
        сажает считает показывает ждёт слушает помнит забывает обещает утро вечер зима лето осень весна
        погода дорога глава страница ответ вопрос итог час неделя деревня улица площадь башня"""
    ),
    "ja": _words(
        """新しい町で 古い道を 静かな朝に 青い空へ 春の風が 山の上から 川の水は 小さな花と 長い旅の
        夜の音も 赤い橋を渡り 白い雲が流れ 窓の外に 木の下で 友だちと話し 本を読み 手紙を書き
        花を植え 茶を飲み 星を数え 海を見て 雨の日に 冬の夜は 夏の昼は 秋の葉が 丘の家で 駅の前に
        広い庭を歩き 遠い島まで 明るい部屋 深い森の奥 丸い石を拾い 古い歌を聞き 朝の光を待ち
        鳥の声に気づき 魚を売り 米を運び 絵を描き 時計を直し 灯りを消し"""
    ),
}

LABELS: Mapping[str, Labels] = {
    "en": Labels(
        "Home",
        "Search",
        "Read more",
        "Next",
        "Contact",
        "Legal notice",
        "You may also like",
        "Written by",
        "Price",
        "Share",
        "Get our letter",
        "Page not found",
    ),
    "de": Labels(
        "Startseite",
        "Suche",
        "Weiterlesen",
        "Weiter",
        "Kontakt",
        "Impressum",
        "Das könnte Sie auch freuen",
        "Von",
        "Preis",
        "Teilen",
        "Unser Rundbrief",
        "Seite nicht gefunden",
    ),
    "fr": Labels(
        "Accueil",
        "Recherche",
        "Lire la suite",
        "Suivant",
        "Contact",
        "Mentions légales",
        "À lire aussi",
        "Par",
        "Prix",
        "Partager",
        "Notre lettre",
        "Page introuvable",
    ),
    "es": Labels(
        "Inicio",
        "Buscar",
        "Leer más",
        "Siguiente",
        "Contacto",
        "Aviso legal",
        "También le gustará",
        "Por",
        "Precio",
        "Compartir",
        "Nuestra carta",
        "Página no encontrada",
    ),
    "pl": Labels(
        "Początek",
        "Szukaj",
        "Czytaj dalej",
        "Dalej",
        "Kontakt",
        "Nota prawna",
        "Zobacz także",
        "Autor",
        "Cena",
        "Udostępnij",
        "Nasz list",
        "Nie znaleziono strony",
    ),
    "ru": Labels(
        "Главная",
        "Поиск",
        "Читать дальше",
        "Далее",
        "Контакты",
        "Правовая информация",
        "Читайте также",
        "Автор",
        "Цена",
        "Поделиться",
        "Наша рассылка",
        "Страница не найдена",
    ),
    "ja": Labels(
        "はじめ",
        "さがす",
        "つづきを読む",
        "つぎへ",
        "お問い合わせ",
        "法律の話",
        "こちらもどうぞ",
        "書いた人",
        "ねだん",
        "分ける",
        "お便り",
        "ページが見つかりません",
    ),
}
