/**
 * Tool effect: what calling a device's tool means for the house. A device's own word for it does not count.
 *
 *   user-only, or on the sensitive list ▸ sensitive
 *   looks, listens, starts or ends programs ▸ sensitive
 *   a getter by name that takes nothing ▸ reads
 *   moves what keeps people, water or gas out ▸ sensitive      else ▸ writes
 *
 * A name that looks like reading is believed only while the tool takes nothing that it could act upon, and no other word
 * of it is one for doing. The owner's own list may name tools with arguments.
 */
import type { Effect } from '../../bus/capability.ts'
import { isJsonObject } from '../../core/json.ts'
import { matchesAnyPattern } from '../../guard/name-pattern.ts'
import type { DeviceTool } from '../wire/tool-list.ts'

export interface ToolEffectRules {
  /** The owner's: names, or beginnings followed by `*`, of tools that only read. */
  readonly readTools: readonly string[]
  /** The owner's, beside the built-in ones. */
  readonly sensitiveTools: readonly string[]
}

/** The verb that a getter's last word begins with: `self.battery.get_level`, `self.application.list_running`. */
const GETTER = /(?:^|[._])(?:get|list|query|read|is|has)(?:_[a-z0-9_]*)?$/
/** In whose company a getter is none: `get_and_clear`, `get_set_mode`. */
const DOING: ReadonlySet<string> = new Set(
  'and or then once next new set reset clear delete erase wipe remove pop take consume ack acknowledge dismiss write toggle turn increment increase decrease decrement open close unlock lock start stop trigger run press move rotate feed dispense play send post update refresh generate create pair calibrate enable disable'.split(
    ' ',
  ),
)
/** Letting a room or a screen be seen or heard, and running programs: as grave as what leaves a house by them. */
const LOOKS_LISTENS_RUNS: ReadonlySet<string> = new Set(
  'photo photos photograph picture pictures selfie snapshot snapshots screenshot screenshots screencap capture video record recording recorder listen microphone mic eavesdrop overhear wiretap dictate transcribe surveil surveillance spy webcam livestream launch kill execute exec shell terminal command script install uninstall foto fotos fotografieren bildschirmfoto kamerabild standbild aufnahme aufnehmen mitschnitt mitschneiden mikrofon mithoeren abhoeren lauschen paizhao luyin luxiang jietu jieping jianting'.split(
    ' ',
  ),
)

/** What looks and listens, and in whose company it does: `camera.stream`, `screen.grab`, `room.hear`. */
const SENSES: ReadonlySet<string> = new Set(
  'camera cam eye lens screen display desktop room audio sound ear kamera'.split(' '),
)
const SENSING: ReadonlySet<string> = new Set(
  'stream streaming look see watch shoot shot snap grab dump ocr describe explain hear monitor frame'.split(' '),
)
/** Names are not cut into words in writings without blanks: taking photos, recording, screenshots, listening in. */
const LOOKS_OR_LISTENS_ELSEWHERE =
  /拍照|拍摄|拍攝|照片|相机|相機|录音|錄音|录像|錄影|录屏|截图|截圖|截屏|监听|監聽|监控|監控|摄像|攝像|偷听|写真|撮影|録音|録画|盗聴|사진|촬영|녹음|녹화|фото|снимок|запис|прослуш/u

/** Locks, doors, gates, valves, and arming: what a house relies on to stay shut, in the languages that firmware is written in. */
const BARRIERS: ReadonlySet<string> = new Set(
  'lock locks unlock door doors doorlock latch deadbolt bolt garage gate gates barrier turnstile disarm siren valve tuer tueren tor garagentor schloss tuerschloss verriegeln entriegeln aufschliessen zuschliessen riegel ventil sirene porte serrure portail verrou deverrouiller verrouiller puerta cerradura porton cerrojo desbloquear porta serratura cancello sbloccare deur poort ontgrendelen drzwi zamek brama dvere zamok kaimen guanmen kaisuo mensuo chekumen famen'.split(
    ' ',
  ),
)
/** German writes the house door as one word. */
const BARRIER_COMPOUND = /(?:tuer|schloss|riegel|ventil)$/
const BARRIERS_ELSEWHERE =
  /门|門|锁|鎖|阀|閥|车库|車庫|布防|撤防|ドア|鍵|施錠|解錠|문열|잠금|двер|замок|ворот|сигнализац/u

/** Restarting, flashing, cutting off, and letting pictures of a screen leave: whoever lists them, and to whomever. */
const SENSITIVE =
  /(?:^|[._])(?:reboot|restart|factory_reset|upgrade_firmware|ota_update|set_download_url|reconfigure_wifi|snapshot|preview_image)$/

export function classifyToolEffect(tool: DeviceTool, rules: ToolEffectRules): Effect {
  const { name, userOnly } = tool
  if (userOnly || SENSITIVE.test(name) || matchesAnyPattern(rules.sensitiveTools, name)) return 'sensitive'
  if (matchesAnyPattern(rules.readTools, name)) return 'reads'
  const words = nameWords(name)
  if (words.some((word) => LOOKS_LISTENS_RUNS.has(word)) || LOOKS_OR_LISTENS_ELSEWHERE.test(name.toLowerCase()))
    return 'sensitive'
  // An image of a camera is taken; one of a screen is as often shown on it.
  if (words.includes('camera') && words.includes('image')) return 'sensitive'
  if (words.some((word) => SENSES.has(word)) && words.some((word) => SENSING.has(word))) return 'sensitive'
  const isGetter = GETTER.test(name) && !words.some((word) => DOING.has(word))
  if (isGetter && takesNothing(tool)) return 'reads'
  return movesBarrier(tool, words) ? 'sensitive' : 'writes'
}

/** A wrong guess costs a question, never a door. What only asks for a state takes nothing and is called so. */
function movesBarrier(tool: DeviceTool, words: readonly string[]): boolean {
  const name = tool.name.toLowerCase()
  if (/[._](?:state|status)$/.test(name) && takesNothing(tool)) return false
  return words.some((word) => BARRIERS.has(word) || BARRIER_COMPOUND.test(word)) || BARRIERS_ELSEWHERE.test(name)
}

/** `startRecording` and `get_HTTPStatus` are words, too; umlauts are spelt out. */
function nameWords(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll('ä', 'ae')
    .replaceAll('ö', 'oe')
    .replaceAll('ü', 'ue')
    .split(/[^a-z0-9]+/)
}

function takesNothing({ inputSchema }: DeviceTool): boolean {
  const { properties } = inputSchema
  return !isJsonObject(properties) || Object.keys(properties).length === 0
}
