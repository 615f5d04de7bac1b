/**
 * Word tables: what people call the things that open a house, guard it or light it, and what is written on their
 * buttons. In English, German, French, Dutch, Spanish, Italian, Portuguese, Danish, Swedish, Norwegian, Polish, Czech and
 * Finnish, in this order. How a word is written says how it matches (device-name-words.ts).
 *
 * A word that is missing costs a door, a word too many costs a question.
 *
 * Pure: data.
 */
import { createWordTable } from './device-name-words.ts'

// Names of devices.

export const LOCK_WORDS = createWordTable(
  'lock locks unlock deadbolt bolt latch strike doorlock smartlock padlock',
  'schloss *schloss riegel türöffner tueroeffner turoffner schließer',
  'serrure serrures verrou gâche',
  'deurslot grendel',
  'cerradura cerrojo pestillo',
  'serratura elettroserratura',
  'fechadura tranca',
  '=lås *=lås doerlaas',
  'zamek rygiel',
  'zámek',
  'lukko *lukko',
)

export const DOOR_WORDS = createWordTable(
  'door doors doorway entrance opener hatch',
  'tür tur tuer türe tuere haustur *=tür *=türe *tuer *tuere',
  'porte portes portillon',
  'deur deuren *deur *deuren',
  'puerta puertas',
  'porta portone',
  'portas',
  '=dør *=dør doer',
  'dörr *dörr',
  'drzwi',
  'dveře',
  'ovi *ovi ovet',
)

export const GATE_WORDS = createWordTable(
  'gate gates barrier bollard garagedoor turnstile',
  'tor tore hoftor gartentor garagentor einfahrtstor rolltor schiebetor sektionaltor schranke pforte',
  'portail portails barrière',
  'poort *poort hek slagboom',
  'portón verja cancela barrera',
  'cancello cancelli sbarra',
  'portão portões',
  'garageport =låge indkørselsport',
  'grind',
  'garasjeport innkjørselsport',
  'brama bramy furtka szlaban',
  'brána vrata závora',
  'portti *portti',
)

export const GARAGE_WORDS = createWordTable(
  'garage garages carport *garage',
  'garagen',
  'garaje',
  'autorimessa',
  'garagem',
  'garasje',
  'garaż garażu',
  'garáž',
  'autotalli*',
)

export const ALARM_WORDS = createWordTable(
  'alarm alarms alarm* burglar intrusion intruder panic partition disarm disarmed arm armed arming keypad',
  'einbruch sabotage scharf unscharf *alarm',
  'alarme intrusion',
  'inbraak',
  'alarma intrusión',
  'allarme antifurto',
  'alarme',
  'tyveri tyverialarm',
  'larm *larm inbrott',
  'innbrudd',
  'alarmowy włamanie',
  'poplach',
  'hälytys hälytin murto',
)

export const SIREN_WORDS = createWordTable(
  'siren sirens',
  'sirene *sirene',
  'sirène',
  'sirena',
  'syrena',
  'siréna',
  'sireeni',
)

/** Guards the house, unless it is the lamp that does. */
export const SECURITY_WORDS = createWordTable(
  'security',
  'sicherheit',
  'sécurité',
  'beveiliging',
  'seguridad',
  'sicurezza',
  'segurança',
  'sikkerhed',
  'säkerhet',
  'sikkerhet',
  'ochrona',
  'zabezpečení',
  'turva*',
)

/** What stands at a door or in a garage without opening it. */
export const HARMLESS_DEVICE_WORDS = createWordTable(
  'bell doorbell light lights lamp lamps led bulb lantern sconce spotlight floodlight outlet plug socket heater heating radiator fan freezer fridge charger speaker radio',
  'licht lampe lampen leuchte klingel steckdose heizung ventilator kühlschrank *licht *lampe *leuchte *klingel',
  'lumière lumières lampe éclairage sonnette prise radiateur chauffage',
  'verlichting deurbel stopcontact verwarming *verlichting',
  'luz luces lámpara timbre enchufe',
  'luce luci lampada campanello presa',
  'luzes lâmpada campainha tomada',
  'lys lampe *lampe *lys dørklokke stikkontakt',
  'ljus lampa *lampa belysning *belysning ringklocka uttag',
  'lys ringeklokke',
  'światło lampa dzwonek gniazdko',
  'světlo zvonek zásuvka',
  'valo *valo lamppu ovikello pistorasia',
)

export const LIGHT_WORDS = createWordTable(
  'light lights lamp lamps led leds bulb lantern sconce chandelier spotlight spots floodlight downlight downlights lighting',
  'licht lichter lampe lampen leuchte leuchten strahler beleuchtung *licht *lampe *lampen *leuchte *leuchten',
  'lumière lumières éclairage lampes',
  'verlichting lampen *verlichting',
  'luz luces lámpara lámparas',
  'luce luci lampada lampade',
  'luzes lâmpada lâmpadas',
  'lys lamper *lys',
  'ljus lampa lampor *lampa belysning *belysning',
  'światło światła',
  'světlo světla',
  'valo valot *valo lamppu',
)

export const BLIND_WORDS = createWordTable(
  'blind blinds shade shades shutter shutters curtain curtains drape drapes awning awnings covering coverings roller',
  'jalousie jalousien rollo rollos rollladen rolladen rollläden raffstore markise vorhang vorhänge *rollo *jalousie *rollladen *rolladen *vorhang',
  'volet volets store stores rideau rideaux',
  'rolluik rolluiken gordijn gordijnen zonwering jaloezie *gordijn *rolluik',
  'persiana persianas cortina cortinas toldo estor',
  'tapparella tapparelle tenda tende persiane',
  'estore estores',
  'gardin gardiner persienne persienner rullegardin *gardin',
  'rullgardin markis persienn',
  'rolety roleta żaluzje zasłona zasłony',
  'žaluzie rolety závěs',
  'verho verhot kaihdin kaihtimet',
)

export const WINDOW_WORDS = createWordTable(
  'window windows skylight',
  'fenster *fenster dachfenster',
  'fenêtre fenêtres',
  'raam ramen',
  'ventana ventanas',
  'finestra finestre',
  'janela janelas',
  'vindue vinduer',
  'fönster',
  'vindu vinduer',
  'okno okna',
  'ikkuna ikkunat',
)

export const VALVE_WORDS = createWordTable(
  'valve valves sprinkler irrigation watering vent damper',
  'ventil *ventil bewässerung',
  'vanne électrovanne arrosage',
  'klep afsluiter kraan beregening',
  'válvula riego',
  'valvola irrigazione',
  'rega',
  'vanding',
  'bevattning',
  'vanning',
  'zawór',
  'zavlažování',
  'venttiili kastelu',
)

/** The water of the whole house, and gas. */
export const MAIN_SUPPLY_WORDS = createWordTable(
  'gas shutoff mains main',
  'gas* haupthahn hauptventil hauptwasser*',
  'gaz principale',
  'hoofdkraan',
  'principal',
  'generale',
  'geral',
  'hovedhane hovedventil',
  'huvudkran huvudventil',
  'hovedkran',
  'główny',
  'hlavní',
  'pääventtiili',
)

export const HEATER_WORDS = createWordTable(
  'heater heating radiator boiler furnace',
  'heizung heizkörper kessel *heizung',
  'chauffage radiateur chaudière',
  'verwarming ketel',
  'calefacción caldera radiador',
  'riscaldamento caldaia',
  'aquecimento aquecedor',
  'varme radiator',
  'värme element',
  'ovn varmeovn',
  'ogrzewanie grzejnik',
  'topení kotel',
  'lämmitys lämmitin',
)

export const FAN_WORDS = createWordTable(
  'fan fans',
  'ventilator lüfter lüftung',
  'ventilateur',
  'ventilador',
  'ventilatore',
)

export const OUTLET_WORDS = createWordTable(
  'outlet plug socket receptacle',
  'steckdose *steckdose stecker',
  'prise',
  'stopcontact',
  'enchufe',
  'presa',
  'tomada',
  'stikkontakt',
  'uttag',
  'gniazdko',
  'zásuvka',
  'pistorasia',
)

/** A relay that stands beside a garage door may well be what moves it. */
export const RELAY_WORDS = createWordTable(
  'relay opener contact button trigger pulse',
  'relais taster impuls aktor',
  'relé',
)

// What is written on buttons.

export const UNLOCK_CONTROL_LABELS = createWordTable(
  'unlock unlocked unsecure unsecured lock locked secure secured',
  'entriegeln entriegelt verriegeln verriegelt aufsperren zusperren aufschließen abschließen sperren entsperren versperren',
  'déverrouiller déverrouillé verrouiller verrouillé déverrouillage verrouillage',
  'ontgrendelen ontgrendeld vergrendelen vergrendeld',
  'desbloquear desbloqueado bloquear bloqueado',
  'sbloccare sblocca sbloccato bloccare blocca bloccato',
  'destrancar trancar destravar travar trancado',
  '=lås =låst =låse oplås ulåst',
  'olåst =låsa',
  '=låse låsopp',
  'odblokuj zablokuj odblokowany zablokowany zarygluj',
  'odemknout zamknout odemčeno zamčeno',
  'lukitse lukittu avaalukko',
)

export const ALARM_ARMING_CONTROL_LABELS = createWordTable(
  'arm armed arming disarm disarmed disarming',
  'scharf unscharf scharfschalten unscharfschalten',
  'armer désarmer armé désarmé',
  'wapenen ontwapenen',
  'armar desarmar armado desarmado',
  'inserire disinserire inserito disinserito',
  'armado',
  'tilkoble frakoble',
  'larma avlarma pålarmat avlarmat',
  'uzbrój rozbrój uzbrojony rozbrojony',
  'zastřežit odstřežit zajistit',
  'viritä virity*',
)

export const OPEN_CLOSE_CONTROL_LABELS = createWordTable(
  'open opened opening close closed closing shut',
  'öffnen oeffnen auf geöffnet offen schließen schliessen zu geschlossen',
  'ouvrir ouvert ouverte fermer fermé fermée',
  'openen sluiten dicht gesloten',
  'abrir abierto abierta cerrar cerrado cerrada',
  'apri aprire aperto chiudi chiudere chiuso',
  'aberto aberta fechar fechado fechada',
  'åbn åben åbne luk lukket',
  'öppna öppen stäng stängd',
  'åpne åpen lukk lukket',
  'otwórz otwarty otwarte zamknij zamknięty zamknięte',
  'otevřít otevři otevřeno zavřít zavři zavřeno',
  'avaa auki sulje kiinni suljettu',
)

export const ON_OFF_CONTROL_LABELS = createWordTable(
  'on off',
  'an aus ein',
  'allumer éteindre allumé éteint',
  'aan uit',
  'encender apagar encendido apagado',
  'accendi spegni acceso spento',
  'ligar desligar ligado desligado',
  'tænd sluk',
  'tänd släck',
  '=på =av',
  'włącz wyłącz',
  'zapnout vypnout',
  'päälle pois',
)

/** Two of these on one device are what alarms and thermostats follow. */
export const OCCUPANCY_MODE_CONTROL_LABELS = createWordTable(
  'home away vacation stay night holiday',
  'zuhause abwesend anwesend urlaub nacht',
  'présent absent vacances nuit maison',
  'thuis weg vakantie nacht',
  'casa fuera ausente vacaciones noche',
  'assente vacanza notte',
  'férias noite',
  'hjemme ude ferie nat',
  'hemma borta semester natt',
  'borte natt',
  'poza wakacje noc',
  'doma pryč dovolená',
  'kotona poissa loma yö',
)
export const MODE_WORDS = createWordTable(
  'mode modes',
  'modus betriebsart anwesenheit',
  'mode présence',
  'modo presencia',
  'modalità presenza',
  'modo presença',
  'tilstand tilstede',
  'läge närvaro',
  'tryb',
  'režim',
  'tila',
)
export const HOUSE_MODE_WORDS = createWordTable(
  'house home away occupancy presence security guard',
  'haus zuhause',
  'maison',
  'huis thuis',
  'casa hogar',
  'hus hjem',
  'hem',
  'dom domu',
  'talo koti',
)

/** Plug-ins of locks, garage doors and alarms: whatever they let be told is one of these. */
export const SECURITY_PLUGIN_WORDS = createWordTable(
  'myq liftmaster chamberlain gogogate tailwind august schlage yale kwikset nuki tedee danalock lockitron',
  'dsc elk elkm m1g3 ultram1g3 ademco vista envisalink blink ring simplisafe abode concord paradox risco texecom visonic caddx interlogix networx',
)

/** Words of type strings: HomeSeer's own names of Z-Wave command classes. */
export const LOCK_DEVICE_TYPE_WORDS = createWordTable('lock')
export const BARRIER_DEVICE_TYPE_WORDS = createWordTable('barrier garage gate')
export const SIREN_DEVICE_TYPE_WORDS = createWordTable('siren sound')
