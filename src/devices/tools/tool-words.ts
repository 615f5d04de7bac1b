/**
 * Tool words: the words in names and descriptions of device tools that say what a tool does, in the languages that
 * firmware is written in. tool-effect.ts decides which effect follows.
 */

/** The verb that a getter's last part begins with: `self.battery.get_level`, `self.application.list_running`. */
const GETTER = /(?:^|[._-])(?:get|list|query|read|is|has)(?:[_-][a-z0-9_-]*)?$/

/** Verbs that make a getter's name an action: `get_and_clear`, `get_set_mode`. */
export const ACTING_VERBS: ReadonlySet<string> = wordSet(
  'and or then once next new set reset clear delete erase wipe remove pop take consume ack acknowledge dismiss write toggle turn increment increase decrease decrement open close unlock lock start stop trigger run press move rotate feed dispense play send post update refresh generate create pair calibrate enable disable',
)
/** The first words, in other languages, of descriptions of tools that open or close something. */
export const FOREIGN_OPEN_CLOSE_VERBS: ReadonlySet<string> = wordSet(
  'oeffnet oeffne oeffnen schliesst schliesse schliessen entriegelt verriegelt schaltet apre apri aprire chiude chiudi chiudere sblocca blocca attiva disattiva ouvre ouvrir ferme fermer deverrouille verrouille abre abrir cierra cerrar desbloquea bloquea fecha fechar destranca opent sluit ontgrendelt otwiera zamyka otevre acar',
)
export const NON_LATIN_OPEN_CLOSE_PATTERN =
  /^\s*(?:打开|打開|开启|開啟|开门|開門|关闭|關閉|解锁|解鎖|上锁|上鎖)|(?:を開け|を閉め|を解錠|を施錠|엽니다|열기|잠급니다)|^\s*(?:откры|закры|отпира|запира)/iu

/** Words for making a room or a screen visible or audible, and for running programs; both are sensitive. */
export const SURVEILLANCE_OR_EXECUTION_WORDS: ReadonlySet<string> = wordSet(
  'photo photos photograph picture pictures selfie snapshot snapshots screenshot screenshots screencap capture video record recording recorder listen microphone mic eavesdrop overhear wiretap dictate transcribe surveil surveillance spy webcam livestream launch kill execute exec shell terminal command script install uninstall foto fotos fotografieren bildschirmfoto kamerabild standbild aufnahme aufnehmen mitschnitt mitschneiden mikrofon mithoeren abhoeren lauschen paizhao luyin luxiang jietu jieping jianting fotografia fotografa scatta scattare registra registrare ascolta ascoltare schermata photographier enregistrer ecouter grabar escuchar escucha captura gravar nagraj nagrywaj',
)
/** Nouns of sensors, and verbs that together with them mean recording: `camera.stream`, `screen.grab`, `room.hear`. */
export const CAPTURE_SOURCE_NOUNS: ReadonlySet<string> = wordSet(
  'camera cam eye lens screen display desktop room audio sound ear kamera',
)
export const CAPTURE_VERBS: ReadonlySet<string> = wordSet(
  'stream streaming look see watch shoot shot snap grab dump ocr describe explain hear monitor frame',
)
/**
 * Names in scripts without blanks are not split into words, so these patterns match taking photos, recording,
 * screenshots and listening.
 */
const LOOKS_OR_LISTENS_ELSEWHERE =
  /拍照|拍摄|拍攝|照片|相机|相機|录音|錄音|录像|錄影|录屏|截图|截圖|截屏|监听|監聽|监控|監控|摄像|攝像|偷听|写真|撮影|録音|録画|盗聴|사진|촬영|녹음|녹화|фото|снимок|запис|прослуш/u
/** A description that says so explicitly; one that only mentions a camera does not match. */
export const CAPTURE_DESCRIPTION_PATTERN =
  /\b(?:takes?|captures?|shoots?|snaps?|records?|grabs?)\b[^.]{0,40}\b(?:photos?|pictures?|snapshots?|screenshots?|videos?|audio|sound|microphone)\b|拍照|拍一张|录音|錄音|录像|錄影|截图|截圖|截屏|监听|監聽|撮影|録音|録画|盗聴|촬영|녹음|녹화/iu

/** Locks, doors, gates, valves and alarm systems: things that a house relies on to stay shut. */
const BARRIERS: ReadonlySet<string> = wordSet(
  'lock locks unlock door doors doorlock latch deadbolt bolt garage gate gates barrier turnstile disarm siren valve tuer tueren tor garagentor schloss tuerschloss verriegeln entriegeln aufschliessen zuschliessen riegel ventil sirene porte serrure portail verrou deverrouiller verrouiller puerta cerradura porton cerrojo desbloquear porta serratura cancello sbloccare deur poort ontgrendelen drzwi zamek brama dvere zamok kaimen guanmen kaisuo mensuo chekumen famen frontdoor valves portone portoncino portoni serrature cancelli sblocca serranda saracinesca basculante valvola antifurto cassaforte portes portillon barriere vanne deverrouille puertas portao portoes garaje garagem cochera fechadura destrancar desbloquea valvula tresor vault alarmanlage deuren sleutel dorr doerr laas lukko bramka furtka zawor vrata brana kapi kilit gas',
)
/** German and Dutch write compounds with door as one word, and so do English names in lower case. */
const BARRIER_COMPOUND =
  /(?:tuer|schloss|riegel|ventil|deur)$|^(?:door|garage|unlock)|(?<!in|out)doors?$|(?:front|back|side|main|car|house|smart|pad|open|close|water|flood|toll)(?:lock|gate|valve)s?$/
/** A doorbell is not a door. */
const NO_BARRIER = /^doorbells?$/
const BARRIERS_ELSEWHERE =
  /门|門|锁|鎖|阀|閥|车库|車庫|布防|撤防|燃气|燃氣|ドア|扉|玄関|鍵|施錠|解錠|ガレージ|バルブ|문열|도어|현관|자물쇠|잠금|밸브|차고|двер|замок|замк|(?<!по)ворот|сигнализац|клапан|πόρτα|κλειδαρι|باب|قفل|דלת|מנעול|दरवाज|ताला|ประตู/u
/**
 * Words that contain the character for door or gate without meaning one: special, department, popular, introductory.
 */
const NO_BARRIERS_ELSEWHERE = /[专專専部热熱入窍竅][门門]/gu

/** Names of tools that restart, flash, disconnect, or send pictures of a screen away, whichever device lists them. */
export const SENSITIVE_TOOL_NAME_PATTERN =
  /(?:^|[._])(?:reboot|restart|factory_reset|upgrade_firmware|ota_update|set_download_url|reconfigure_wifi|snapshot|preview_image)$/
/**
 * Words for the same in other spellings, languages and places of a name: `rebootDevice`, `system.restart_now`,
 * `ota.start`.
 */
const MAINTENANCE: ReadonlySet<string> = wordSet(
  'reboot restart shutdown firmware ota factory neustart neustarten werksreset werkseinstellungen riavvia riavviare spegnimento redemarrer redemarrage reiniciar reinicia herstarten chongqi',
)
const MAINTENANCE_ELSEWHERE =
  /重启|重啟|恢复出厂|恢復出廠|固件|韌體|再起動|初期化|ファームウェア|재부팅|재시작|펌웨어|перезагру|прошив/u
const NETWORKS: ReadonlySet<string> = wordSet('wifi wlan')
const RECONFIGURING: ReadonlySet<string> = wordSet(
  'set config configure reconfigure reset forget connect disconnect provision change disable off',
)

export function isGetterName(name: string): boolean {
  return GETTER.test(splitCamelCase(name).toLowerCase())
}

export function isBarrierWord(word: string): boolean {
  return !NO_BARRIER.test(word) && (BARRIERS.has(word) || BARRIER_COMPOUND.test(word))
}

export function mentionsBarrierInNonLatinScript(text: string): boolean {
  return BARRIERS_ELSEWHERE.test(text.normalize('NFKC').toLowerCase().replaceAll(NO_BARRIERS_ELSEWHERE, ''))
}

export function mentionsCaptureInNonLatinScript(name: string): boolean {
  return LOOKS_OR_LISTENS_ELSEWHERE.test(name.normalize('NFKC').toLowerCase())
}

export function isMaintenanceToolName(name: string, words: readonly string[]): boolean {
  if (words.some((word) => MAINTENANCE.has(word)) || MAINTENANCE_ELSEWHERE.test(name.normalize('NFKC').toLowerCase()))
    return true
  return words.some((word) => NETWORKS.has(word)) && words.some((word) => RECONFIGURING.has(word))
}

/**
 * Splits names such as `startRecording`, `get_HTTPStatus` and `door1`; umlauts are spelt out, and other accents are
 * removed.
 */
export function splitIntoWords(text: string): readonly string[] {
  return splitCamelCase(text.normalize('NFKC'))
    .toLowerCase()
    .replaceAll(/[äöüßøåłıæ]/gu, (letter) => SPELT_OUT[letter] ?? letter)
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .split(/[^a-z]+/)
}

const SPELT_OUT: Readonly<Record<string, string>> = {
  ä: 'ae',
  ö: 'oe',
  ü: 'ue',
  ß: 'ss',
  ø: 'oe',
  å: 'aa',
  ł: 'l',
  ı: 'i',
  æ: 'ae',
}

function splitCamelCase(text: string): string {
  return text.replaceAll(/([\p{Ll}0-9])(\p{Lu})/gu, '$1_$2').replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}
