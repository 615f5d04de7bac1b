/**
 * Source address search: which initiator address is ours. Nobody hands them out, so one listens first and then asks.
 *
 *   listening ──enough heard──▶ probing a free one ──no answer at its target address──▶ admitted
 *                                    │ an answer: the next one
 *                                    └ none left ──▶ none free: listening again, later
 *   admitted ──another initiator uses it──▶ chosen by us: listening again; set by the owner: nothing is sent
 *
 * Without an admitted address nothing is ever sent, except the one probe.
 */
import { toCompanionInitiator, toCompanionTarget, isInitiatorAddress } from '../wire/address.ts'
import type { Telegram } from '../wire/telegram.ts'
import type { Result } from '../../core/result.ts'
import type { EbusSendFault, EbusReply, SourceAddressState } from './ebus-connection.ts'

/** Lowest priority first, so that a gateway never delays a regulator. */
export const SOURCE_ADDRESS_CANDIDATES: readonly number[] = [
  0xff, 0x7f, 0x3f, 0x1f, 0xf7, 0x77, 0x37, 0x17, 0x07, 0x11, 0x31, 0x00,
]

/** How long to wait after a conflict, or if no address is free. */
const RETRY_MS = 60_000

export interface SourceAddressSearch {
  readonly wanted: number | 'auto'
  readonly listenMs: number
  state: SourceAddressState
  address: number | undefined
  /** Listening ends at this moment; `undefined` while there is no signal. */
  untilMs: number | undefined
  readonly observed: Set<number>
  readonly rejected: Set<number>
}

export function newSourceAddressSearch(wanted: number | 'auto', listenMs: number): SourceAddressSearch {
  if (wanted !== 'auto' && !isInitiatorAddress(wanted)) throw new RangeError(`${wanted} is not an initiator address`)
  const fixed = wanted === 'auto' ? undefined : wanted
  const state = fixed === undefined ? 'listening' : 'admitted'
  return { wanted, listenMs, state, address: fixed, untilMs: undefined, observed: new Set(), rejected: new Set() }
}

/** The bus has a signal: from now on silence of an address means something. */
export function noteBusSignal(selection: SourceAddressSearch, nowMs: number): void {
  if (selection.state === 'listening' && selection.untilMs === undefined) selection.untilMs = nowMs + selection.listenMs
}

/** The signal is gone; addresses that were heard stay known, but the listening has to begin again. */
export function noteSignalLoss(selection: SourceAddressSearch): void {
  if (selection.state === 'listening' || selection.state === 'probing') restart(selection, undefined)
}

/** A telegram of somebody else. */
export function noteForeignTelegram(selection: SourceAddressSearch, { source, target }: Telegram, nowMs: number): void {
  selection.observed.add(source)
  const companion = toCompanionInitiator(target)
  if (companion !== undefined) selection.observed.add(companion)
  if (source !== selection.address) return
  if (selection.wanted === 'auto') restart(selection, nowMs + selection.listenMs)
  else {
    selection.state = 'not-ours'
    selection.untilMs = nowMs + RETRY_MS
  }
}

/** The candidate to probe, when it is time to. */
export function nextSourceProbe(selection: SourceAddressSearch, nowMs: number): number | undefined {
  if (selection.untilMs === undefined || nowMs < selection.untilMs) return undefined
  switch (selection.state) {
    case 'not-ours':
      selection.state = 'admitted'
      selection.untilMs = undefined
      return undefined
    case 'none-free':
      // Devices that are still there are heard or answer again; an address from a garbled telegram does not.
      selection.rejected.clear()
      selection.observed.clear()
      restart(selection, nowMs + selection.listenMs)
      return undefined
    case 'listening':
      return nextCandidate(selection, nowMs)
    default:
      return undefined
  }
}

export type SourceProbeVerdict = 'free' | 'taken' | 'unclear'

/** Handles the result of a probe, and returns the next candidate, if there is one. */
export function handleProbeVerdict(
  selection: SourceAddressSearch,
  verdict: SourceProbeVerdict,
  nowMs: number,
): number | undefined {
  if (selection.state !== 'probing' || selection.address === undefined) return undefined
  if (verdict === 'free') {
    selection.state = 'admitted'
    selection.untilMs = undefined
    return undefined
  }
  if (verdict === 'taken') {
    selection.rejected.add(selection.address)
    return nextCandidate(selection, nowMs)
  }
  restart(selection, nowMs + selection.listenMs)
  return undefined
}

/** The identification request to the candidate's own target address. */
export function createProbeTelegram(candidate: number): Telegram {
  return {
    source: candidate,
    target: toCompanionTarget(candidate),
    primary: 0x07,
    secondary: 0x04,
    data: new Uint8Array(),
  }
}

/** No answer means that the address is free; any answer that it is taken; other faults tell nothing. */
export function toProbeVerdict(probed: Result<EbusReply, EbusSendFault>): SourceProbeVerdict {
  if (probed.ok) return 'taken'
  switch (probed.fault.kind) {
    case 'no-answer':
      return 'free'
    case 'refused':
    case 'answer-garbled':
    case 'answer-lost':
      return 'taken'
    default:
      return 'unclear'
  }
}

function nextCandidate(selection: SourceAddressSearch, nowMs: number): number | undefined {
  const free = SOURCE_ADDRESS_CANDIDATES.find(
    (candidate) => !selection.observed.has(candidate) && !selection.rejected.has(candidate),
  )
  selection.address = free
  selection.state = free === undefined ? 'none-free' : 'probing'
  selection.untilMs = free === undefined ? nowMs + RETRY_MS : undefined
  return free
}

function restart(selection: SourceAddressSearch, untilMs: number | undefined): void {
  selection.state = 'listening'
  selection.address = undefined
  selection.untilMs = untilMs
}
