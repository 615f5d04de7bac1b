/**
 * Device name tables: what people call the things that open a house, guard it or light it. In English, German, French,
 * Dutch, Spanish, Italian, Portuguese, Danish, Swedish, Norwegian, Polish, Czech, Finnish, Russian, Greek, Japanese and
 * Chinese, in this order; the last line of a table has words of further languages. How a word is written says how it
 * matches (device-name-word-matching.ts).
 *
 * A missing word may leave a door unguarded; a superfluous one only causes a question.
 *
 * Pure: data.
 */
import { createWordTable } from './device-name-word-matching.ts'

export const LOCK_WORDS = createWordTable(
  'locks *lock !*clock !*block !*flock deadbolt bolt latch deadlatch strike safe',
  'schloss *schloss *schlösser riegel *riegel türöffner tueroeffner turoffner schließer tresor',
  'serrure serrures verrou verrous gâche cadenas loquet',
  '*slot *sloten grendel hangslot kluis',
  'cerradura* cerrojo pestillo candado',
  '*serratura serrature chiavistello catenaccio lucchetto cassaforte',
  'fechadura* tranca trinco cadeado ferrolho',
  '=lås *=lås =låse =låser =låsen =låset *=låsen *=låset doerlaas',
  'kassaskåp',
  'safen',
  'zamek zamka zamki zamków rygiel elektrozam* elektrozaczep kłódka',
  'zámek zámku zámky',
  'lukko *lukko lukot lukit* *lukitus salpa',
  'замок замка замк* *замок засов щеколда сейф',
  'κλειδαρ* λουκετο συρτης',
  '*鍵* *錠* *ロック* !*クロック* !*ブロック*',
  '*锁* *鎖*',
  'zár zárak *=zár pany panys kilit încuietoare zăvor zámok brava ključavnic* lukk slēdzene spyna ключалк* *מנעול* *قفل* *잠금* *도어락*',
)

export const DOOR_WORDS = createWordTable(
  'doors *door !outdoor !indoor doorway entrance entry opener hatch flap catflap intercom',
  'tür tur tuer türe tuere haustur* *=tür *=türe *=türen *tuer *tuere *tueren =tür* !=türkis* !=*schloss !=*klingeln eingang *eingang gegensprechanlage',
  'porte portes entrée interphone visiophone',
  'deur deuren *deur *deuren ingang',
  'puerta puertas entrada portero',
  'porta ingresso citofono apriporta *porta',
  'portas porteiro',
  '=dør *=dør =døre *=døre =dører *=dører =døren *=døren doer indgang',
  'dörr *dörr dörren *dörren dörrar ingång *ingång entré',
  '=døra *=døra inngang',
  'drzwi* wejście domofon',
  'dveře vchod',
  'ovi *ovi !*kovi ovet *ovet ovisummeri sisäänkäynti',
  'двер* вход входы вхід входи входн* домофон',
  '*πορτα *πορτες εισοδ*',
  '*ドア* *玄関* *扉* *勝手口* *裏口*',
  '*门* *門* *入口*',
  '*ajtó *ajtók bejárat* kapı kapısı =ușa =ușă dvere vrata vrate uks durvis durys hurð врат* *דלת* *باب* *문* *도어* *현관*',
)

export const GATE_WORDS = createWordTable(
  'gates *gate !aggregate !navigate barrier bollard garagedoor turnstile wicket',
  'tor tore hoftor *stor *fahrtor *ntor *ertor *ttor *ftor *gtor *htor *ltor !*kontor !*istor !*vertor !digestor !investor !mentor !inventor toröffner torantrieb *toröffner *torantrieb *torsteuerung *tormotor *tortaster schranke schranken* pforte *pforte pförtchen',
  'portail portails portillon barrière',
  'poort *poort poortje hek slagboom',
  'portón verja cancela barrera',
  'cancell* sbarra portone portoncino serranda basculante saracinesca',
  'portão portões',
  '=låge *=låge =lågen *=lågen indkørselsport',
  'port porten porter portar *port *porten !support !airport !*sport !report !rapport !export !import grind grinden grindar',
  'innkjørselsport',
  'bram brama bramy bramę bramka furtka furtki furtkę szlaban',
  'brána brány branka vrátka závora',
  'portti *portti portit puomi',
  'ворот* калитк* шлагбаум*',
  'πυλη πυλες *πυλη καγκελοπορτ* μπαρα',
  '*ゲート* *シャッター*',
  '*闸* *閘* *栅栏*',
  'kapu kapuk *kapu tanca tanques poartă kapija хвіртк* värav vārti vartai *שער* *بوابة* *대문*',
)

export const GARAGE_WORDS = createWordTable(
  'garages garager carport *garage',
  'garagen*',
  'garaje garajes cochera garatge garatges',
  'autorimessa',
  'garagem',
  'garagen garaget',
  'garasje*',
  'garaż*',
  'garáž*',
  'autotalli*',
  'гараж*',
  'γκαραζ*',
  '*ガレージ* *車庫*',
  '*车库*',
  'garázs garaj garaža *מוסכ* *מוסך* *كراج* *차고*',
)

export const ALARM_WORDS = createWordTable(
  'alarm* *alarm burglar intrusion intruder panic partition disarm disarmed arm armed arming keypad',
  'einbruch* überfall* sabotage scharf* unscharf*',
  'alarme intrusion',
  'inbraak*',
  'alarma intrusión',
  'allarme antifurto',
  'alarme',
  'tyveri*',
  'larm* *larm *larmet inbrott*',
  'innbrudd*',
  'włamani*',
  'poplach* poplašn* zabezpečovač*',
  'hälyty* hälyti* murto*',
  'сигнализац* охран* тревог* взлом*',
  'συναγερμ*',
  '*警報* *アラーム* *防犯* *警備*',
  '*报警* *警报* *安防* *布防*',
  'riasztó* сигналізац* аларм* *אזעקה* *انذار* *경보*',
)

export const SIREN_WORDS = createWordTable(
  'siren* *sirene *sirenen strobe',
  'syren*',
  'sireeni*',
  'сирен*',
  'σειρην*',
  '*サイレン*',
  '*警笛*',
  'sziréna kürt* *סירנה* *צופר* *사이렌*',
)

/** Words for alarm clocks, which are not alarms. */
export const ALARM_CLOCK_WORDS = createWordTable(
  'clock wecker réveil wekker despertador sveglia väckarklocka будильник',
)

/** Words for security devices, unless the device is a lamp. */
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
  'безопасност*',
  'ασφαλεια*',
  '*セキュリティ*',
)

/** Words for devices at a door or in a garage that do not open it. */
export const HARMLESS_DEVICE_WORDS = createWordTable(
  'bell doorbell light lights lamp lamps led bulb lantern sconce spotlight floodlight outlet plug socket heater heating radiator fan freezer fridge charger speaker radio',
  'licht lampe lampen leuchte klingel steckdose heizung ventilator kühlschrank *licht *lampe *leuchte *klingel *klingeln',
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
  'valo *valo lamppu *lamppu ovikello pistorasia',
  'свет* ламп* звонок звонк* дзвін* розетк*',
  'φως φωτα λαμπ* κουδουνι πριζα',
  '*照明* *ライト* *ランプ* *チャイム*',
  '*灯* *燈* *门铃* *門鈴* *插座*',
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
  'valo valot *valo lamppu *lamppu',
  'свет* ламп* люстр* подсветк* освещен*',
  'φως φωτα λαμπ* φωτιστικ*',
  '*照明* *ライト* *ランプ* *電気*',
  '*灯* *燈*',
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
  'штор* жалюзи рольстав* роллет* занавес*',
  'κουρτιν* ρολα ρολο περσιδ* στορ*',
  '*カーテン* *ブラインド*',
  '*窗帘* *窗簾* *百叶*',
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
  'fönster *fönster',
  'vindu vinduer',
  'okno okna',
  'ikkuna ikkunat',
  'окн*',
  'παραθυρ*',
  '*窓*',
  '*窗*',
)

export const VALVE_WORDS = createWordTable(
  'valve valves sprinkler irrigation watering vent damper',
  'ventil *ventil bewässerung *hahn',
  'vanne électrovanne arrosage robinet',
  'klep afsluiter *kraan beregening',
  'válvula riego llave',
  'valvola irrigazione rubinetto',
  'rega registro',
  'vanding *hane',
  'bevattning *kran',
  'vanning',
  'zawór',
  'zavlažování uzávěr',
  'venttiili *venttiili kastelu',
  'кран клапан* вентиль полив',
  'βανα βαλβιδ* ποτισμ*',
  '*バルブ* *元栓* *散水*',
  '*阀* *閥*',
)

/** Words for gas, which alone make a device sensitive. */
export const GAS_WORDS = createWordTable(
  'gas gashahn gasventil gasleitung gaszufuhr gaskraan',
  'gaz gazu gás plyn*',
  'kaasu*',
  'газ* !газон*',
  'αεριο* υγραεριο*',
  '*ガス* *燃气* *煤气* *瓦斯*',
)

/** Words for the water or electricity mains of the whole house. */
export const MAIN_SHUTOFF_WORDS = createWordTable(
  'shutoff mains main',
  'haupthahn hauptventil hauptwasser* hauptschalter',
  'principale générale',
  'hoofdkraan',
  'principal paso',
  'generale',
  'geral',
  'hovedhane hovedventil',
  'huvudkran huvudventil',
  'hovedkran',
  'główny główna',
  'hlavní',
  'pääventtiili pääsulku',
  'главн* вводн*',
  'κεντρικ* γενικ*',
  '*元栓*',
  '*总阀* *总水* *總閥*',
)

/** Words for what a main supplies, or for its shut-off. */
export const WATER_AND_POWER_WORDS = createWordTable(
  'water breaker power',
  'wasser strom *wasser *schalter',
  'eau',
  'water',
  'agua',
  'acqua',
  'água',
  'vand',
  'vatten',
  'vann',
  'woda wody',
  'voda vody',
  'vesi *venttiili',
  'вод*',
  'νερ*',
  '*水*',
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
  'обогрев* отоплен* котел котл*',
  'θερμανσ* καλοριφερ',
  '*暖房* *ヒーター*',
  '*暖气*',
)

export const FAN_WORDS = createWordTable(
  'fan fans',
  'ventilator lüfter lüftung',
  'ventilateur',
  'ventilador',
  'ventilatore',
  'вентилятор*',
  'ανεμιστηρ*',
  '*扇風機* *换气* *換気*',
  '*风扇*',
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
  'розетк*',
  'πριζα',
  '*コンセント* *插座*',
)

/** Words for relays: one at a door may move that door. */
export const RELAY_WORDS = createWordTable(
  'relay opener contact button trigger pulse output',
  'relais taster impuls aktor ausgang summer',
  'relé uscita salida sortie',
  'przekaźnik tlačítko spoušť rele реле ρελε *リレー* *继电器*',
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
  'режим*',
  'λειτουργια',
  '*モード*',
  '*模式*',
)

export const HOUSE_MODE_WORDS = createWordTable(
  'house home away occupancy presence security guard vacation holiday',
  'haus zuhause urlaub abwesend anwesend',
  'maison',
  'huis thuis',
  'casa hogar',
  'hus hjem',
  'hem',
  'dom domu',
  'talo koti',
  'дом* охран* отпуск*',
  'σπιτι*',
  '*留守* *在宅*',
  '*离家* *回家* *在家*',
)

/** Words for scenes and groups of lamps, whatever their buttons are called. */
export const SCENE_WORDS = createWordTable(
  'scene scenes mood preset theme',
  'szene szenen stimmung',
  'scène ambiance',
  'escena',
  'scena cena',
  'scen tema',
  'tilanne',
  'сцена',
  '*シーン* *场景*',
)

/** Words for players, whose buttons have the names of inputs, stations and playlists. */
export const MEDIA_WORDS = createWordTable(
  'tv television stereo receiver amplifier amp radio speaker media music playlist source input channel station avr hifi',
  'fernseher lautsprecher musik sender quelle verstärker',
  'télé télévision musique chaîne',
  'música televisión televisore musica',
  'телевизор музыка',
)

/** Plug-ins for locks, garage doors and alarms: each of their controllable devices is one of these. */
export const SECURITY_PLUGIN_WORDS = createWordTable(
  '*lock* !*clock* !*block* *door* *garage* *gate* !*gateway* *alarm* *secur* *access* *intercom*',
  '*myq* liftmaster chamberlain aladdin* genie tailwind august schlage yale kwikset nuki tedee danalock lockitron ultraloq keymitt',
  'dsc elk elkm m1g3 *m1g3* ademco vista envisalink blink ring simplisafe abode concord paradox risco texecom visonic',
  'caddx interlogix networx omni omnipro hai satel integra jablotron verisure konnected eufy ajax honeywell galaxy pima',
  'akuvox 2n hikvision dahua fermax bticino salto iloq igloohome hormann hörmann bisecur somfy faac came',
)

/** Words in type strings: HomeSeer's own names of Z-Wave command classes. */
export const BARRIER_DEVICE_TYPE_WORDS = createWordTable('barrier garage gate opener')
export const SIREN_DEVICE_TYPE_WORDS = createWordTable('siren sound')
