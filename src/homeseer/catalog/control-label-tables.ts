/**
 * Control label tables: the labels of devices' buttons, in the languages and in the order of device-name-tables.ts. How
 * a word is written says how it matches (device-name-word-matching.ts).
 *
 * Pure: data.
 */
import { createWordTable } from './device-name-word-matching.ts'

export const LOCK_AND_UNLOCK_CONTROL_LABELS = createWordTable(
  'unlock* unsecure* lock locks locked locking secure secured latch unlatch bolt unbolt release buzz',
  'entriegel* verriegel* aufsperren zusperren aufschließen abschließen abgeschlossen aufgeschlossen sperren entsperren versperren gesperrt freigeben',
  'déverrou* verrou*',
  'ontgrendel* vergrendel*',
  'desbloque* bloque* bloqueado',
  'sblocc* blocc*',
  'destranc* tranc* destrav* trava travar travado desbloqueia bloqueia',
  '=lås =låst =låse =låser oplås* ulåst',
  'olåst =låsa =låser upplåst',
  '=låse =låser låsopp',
  'odblok* zablok* zarygluj odrygluj',
  'odemk* odemč* zamk* zamč*',
  'lukit* avaalukko',
  'отпереть запереть отпер* запер* разблок* заблок*',
  'ξεκλειδ* κλειδω*',
  '*解錠* *施錠* *ロック*',
  '*开锁* *開鎖* *解锁* *解鎖* *上锁* *上鎖* *反锁*',
)

export const ALARM_ARMING_CONTROL_LABELS = createWordTable(
  'arm armed arming disarm* unset bypass unbypass',
  'scharf* unscharf*',
  'armer désarmer armé désarmé',
  'wapenen ontwapenen',
  'armar desarmar armado desarmado',
  'inseri* disinseri* insérer désinsérer',
  'armado',
  'tilkobl* frakobl*',
  'larma avlarma pålarm* avlarm*',
  'uzbr* rozbr*',
  'zastřež* odstřež* zajistit odjistit',
  'viritä virity* viritetty',
  'охран* сняти снять поставить',
  'οπλισ* αφοπλισ*',
  '*警戒*',
  '*布防* *撤防*',
)

export const OPEN_CLOSE_CONTROL_LABELS = createWordTable(
  'open* opn close* closing cls shut',
  'öffn* oeffn* auf geöffnet offen schließ* zu geschlossen',
  'ouvr* ouvert* ferme fermé fermer fermée ferment fermeture',
  'openen sluit* dicht gesloten',
  'abrir abre abra abierto abierta apertura cerrar cierra cierre cerrado cerrada',
  'apri aprire aperto aperta apertura chiud* chius*',
  'aberto aberta abertura fech*',
  'åbn åben åbne åbner luk lukket lukker',
  'öppn* öppen stäng*',
  'åpn* åpen lukk lukket',
  'otw* zamkn* zamyk*',
  'otev* zavř* zavír*',
  'avaa auki avautuu sulje* sulku kiinni suljettu',
  'откры* откро* закры* закро* відчин* зачин* відкр* закр*',
  'ανοιγ* ανοιξ* ανοιχτ* ανοικτ* κλεισ* κλειν* κλειστ*',
  '*開ける* *閉* *開扉* *開門*',
  '*开门* *关门* *關門* *开启门*',
  'nyit* zár csuk* =aç =açık kapat kapalı deschid* închi* otvor* zatvor* *열기* *닫기* *열림* *닫힘* *פתח* *סגור* *פתיחה* *فتح* *غلاق* *اغلق*',
)

export const ON_OFF_CONTROL_LABELS = createWordTable(
  'on off',
  'an aus ein',
  'allumer éteindre allumé éteint marche arrêt',
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
  'вкл выкл включ* выключ*',
  'ναι οχι ενεργο ανενεργο',
  '入 切 オン オフ',
  '开 关 開 關 打开 关闭 打開 關閉',
  'be ki bekapcsol kikapcsol pornit oprit zapnúť vypnúť 켜기 끄기',
)

/** Two of these on one device mean a house mode, which alarms and thermostats follow. */
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
  'дома отпуск ночь',
  'σπιτι λειπω νυχτα',
  '在宅 外出 留守',
  '在家 离家 外出',
)

/** Buttons of lamps, players, fans and blinds, which open nothing by themselves. */
export const HARMLESS_CONTROL_LABELS = createWordTable(
  'up down stop start pause play next previous forward rewind press toggle run activate dim bright* level last low medium high auto manual heat cool dry eco comfort fan speed volume mute unmute red green blue white warm cold colour color scene source input return dock clean brew boost normal value raise lower max min increase decrease default reset refresh test',
  'hoch runter ab stopp pause drücken umschalten ausführen dunkel hell* stufe niedrig mittel hoch automatik manuell heizen kühlen trocknen rot grün blau weiß warm kalt farbe szene lauter leiser',
  'haut bas monter descendre pause lecture appuyer basculer auto chauffer froid rouge vert bleu blanc',
  'omhoog omlaag hoog laag druk',
  'subir bajar parar pulsar alto medio bajo rojo verde azul blanco',
  'su giù ferma premi alto medio basso rosso blu bianco',
  'parar descer médio baixo vermelho branco',
  'op ned stop høj lav rød grøn blå hvid',
  'upp ner stopp hög låg röd grön blå vit',
  'opp ned høy',
  'góra dół górę',
  'nahoru dolů',
  'ylös alas seis',
  'вверх вниз стоп',
  'πανω κατω στοπ',
  '*上* *下* *停止* *強* *弱* *中*',
)
