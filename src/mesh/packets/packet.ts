/**
 * Packet: small calls that only read, of one session, or the answers to them, that travel together. One proof, one
 * message through a broker and one write to a socket serve all that were made in the same moment.
 *
 *   hbp1 call <key id> <number of the first> <how many> <proof> ⏎ [sent at, call, call …]
 *   hbp1 answer <key id> <proof> ⏎ [[number, status, body] …]
 *   hbp1 refusal <key id> <number of the first> <how many> <signature> ⏎ [status, body]      none of them was tried
 *   hbp1 cancel <key id> <number> ⏎
 *   hbp1 again <key id> <number> ⏎        what became of it? ─▶ its answer, or one of
 *   hbp1 forgotten <key id> <number> ⏎    hbp1 unknown <key id> <number> <signature> ⏎        it never came
 *
 * A proof covers everything but itself: the words between `hbp1` and it, a line feed, and the rest.
 *
 * Pure.
 */
import { utf8 } from '../../core/bytes.ts'

interface Named<Kind extends string> {
  readonly kind: Kind
  readonly keyId: string
}

/** Calls and refusals are numbered through: a packet names the first and how many. */
interface Spanning<Kind extends string> extends Named<Kind> {
  readonly first: number
  readonly count: number
}

interface About<Kind extends string> extends Named<Kind> {
  readonly number: number
}

export type PacketHead =
  | Spanning<'call' | 'refusal'>
  | Named<'answer'>
  | About<'cancel' | 'again' | 'forgotten' | 'unknown'>

export interface Packet {
  readonly head: PacketHead
  /** Empty for those that need none. */
  readonly proof: string
  /** The words that the proof covers, before the payload. */
  readonly covered: string
  readonly payload: Uint8Array
}

const MARK = 'hbp1 '
const FIRST_BYTE = 0x68
const LINE_FEED = 0x0a
/** A key id, a few numbers and a proof. */
const MAX_HEAD_BYTES = 512
export const MAX_CALLS_PER_PACKET = 32
/** Bytes of calls, or of answers, up to which more are added. One that is larger travels alone. */
export const MAX_GATHERED_BYTES = 65_536
/** No packet of calls is larger: what does not fit into one goes as a message of its own. */
export const MAX_CALL_BYTES = 16_384

/** The words of a head that its proof covers, with the line feed. */
export function coveredHead(head: PacketHead): string {
  const { kind, keyId } = head
  if ('first' in head) return `${kind} ${keyId} ${head.first} ${head.count}\n`
  return 'number' in head ? `${kind} ${keyId} ${head.number}\n` : `${kind} ${keyId}\n`
}

/** `covered` is what `coveredHead` made. */
export function encodePacket(covered: string, proof = '', payload = ''): Uint8Array {
  return utf8(`${MARK}${covered.slice(0, -1)}${proof === '' ? '' : ` ${proof}`}\n${payload}`)
}

/** A glance: other messages on the same subject begin with a brace. */
export function isPacket(bytes: Uint8Array): boolean {
  return bytes[0] === FIRST_BYTE
}

/** `undefined` for whatever is no packet. The payload is not looked at: nobody has vouched for it yet. */
export function decodePacket(bytes: Uint8Array): Packet | undefined {
  const end = bytes.subarray(0, MAX_HEAD_BYTES).indexOf(LINE_FEED)
  if (end < 0) return undefined
  const line = Buffer.from(bytes.buffer, bytes.byteOffset, end).toString('latin1')
  if (!line.startsWith(MARK)) return undefined
  const words = line.slice(MARK.length).split(' ')
  const [kind = '', keyId = ''] = words
  const read = KEY_ID.test(keyId) && Object.hasOwn(READ, kind) ? READ[kind]?.(words, keyId) : undefined
  if (read === undefined) return undefined
  const [head, proof] = read
  return { head, proof, covered: coveredHead(head), payload: bytes.subarray(end + 1) }
}

const KEY_ID = /^[A-Za-z0-9_-]{1,64}$/

type Read = (words: readonly string[], keyId: string) => readonly [PacketHead, string] | undefined

const READ: Readonly<Record<string, Read>> = {
  call: spanning('call'),
  refusal: spanning('refusal'),
  answer: ([, , proof = ''], keyId) => [{ kind: 'answer', keyId }, proof],
  cancel: about('cancel'),
  again: about('again'),
  forgotten: about('forgotten'),
  unknown: about('unknown'),
}

function spanning(kind: 'call' | 'refusal'): Read {
  return ([, , firstText, countText, proof = ''], keyId) => {
    const [first, count] = [counted(firstText), counted(countText)]
    if (first === undefined || count === undefined || count > MAX_CALLS_PER_PACKET) return undefined
    return [{ kind, keyId, first, count }, proof]
  }
}

function about(kind: 'cancel' | 'again' | 'forgotten' | 'unknown'): Read {
  return ([, , numberText, proof = ''], keyId) => {
    const number = counted(numberText)
    return number === undefined ? undefined : [{ kind, keyId, number }, proof]
  }
}

/** One spelling for each number: what is covered is written anew from what was read. */
function counted(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined
}
