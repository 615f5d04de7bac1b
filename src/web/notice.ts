/**
 * Notice: tells people who are not at the console that a call waits for approval. It leaves the house, so it contains
 * what a person needs in order to look, and no arguments: those may be codes and positions.
 */
import type { JsonObject } from '../core/json.ts'
import { sanitizeLine, sanitizeText } from '../core/untrusted-text.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import type { ApprovalView } from './views.ts'

export interface OutgoingNotice {
  /** ASCII, because it may be sent in a header. */
  readonly title: string
  readonly text: string
  /** The same facts, for programs. */
  readonly facts: JsonObject
}

/** Further calls are counted. With the lengths below, a text stays below the 4,096 bytes that ntfy accepts. */
const MAX_NAMED = 5
const MAX_LISTED = 100
const MAX_TOOL = 80
const MAX_WHAT = 60
const MAX_WHO = 40

export interface NoticeOptions {
  /** ASCII, as its schema requires. */
  readonly node: string
  /** Whether the notice says what calls are about. */
  readonly names: boolean
  readonly nowMs: number
}

/** Takes at least one call; the one that has waited longest is first. */
export function createApprovalNotice(
  waiting: readonly ApprovalView[],
  { node, names, nowMs }: NoticeOptions,
): OutgoingNotice {
  const lines = waiting.slice(0, MAX_NAMED).map((approval) => sentence(approval, names, nowMs))
  const unnamed = waiting.length - lines.length
  if (unnamed > 0) lines.push(`And ${unnamed} more.`)
  const listed = waiting.slice(0, MAX_LISTED).map((approval) => factsOf(approval, names))
  return {
    title: `${node}: ${waiting.length === 1 ? 'a call waits' : `${waiting.length} calls wait`} for a person`,
    text: lines.join('\n'),
    facts: { event: 'approval.requested', node, count: waiting.length, waiting: listed },
  }
}

/** For a person who has just configured an address and wants to test it. */
export function createTestNotice(node: string): OutgoingNotice {
  const text = 'This is a test: nothing waits. You will be notified here when a call does.'
  return { title: `${node}: a test`, text, facts: { event: 'trial', node, count: 0, waiting: [] } }
}

function sentence(approval: ApprovalView, names: boolean, nowMs: number): string {
  const minutes = Math.max(1, Math.floor((approval.expiresAtMs - nowMs) / 60_000))
  return `${whatOf(approval, names)}: ${toolOf(approval)}, asked by ${whoOf(approval)}.${votesOf(approval)} Answer within ${minutes} min.`
}

/** Which voters have voted and how, if the call is in a voting round. */
function votesOf({ round }: ApprovalView): string {
  if (round === undefined) return ''
  const yeses = round.votes.filter(({ decision }) => decision === 'allow').map(({ voter }) => voter)
  return ` ${yeses.length} of ${round.need} yeses${yeses.length === 0 ? '' : ` (${yeses.join(', ')})`}.`
}

function factsOf(approval: ApprovalView, names: boolean): JsonObject {
  const { target } = approval.binding
  return {
    id: approval.id,
    tool: toolOf(approval),
    what: whatOf(approval, names),
    ...(names && target !== undefined ? { target: plain(target, MAX_WHAT) } : {}),
    effect: approval.shown.effect,
    asked_by: whoOf(approval),
    until: formatIsoTime(approval.expiresAtMs),
  }
}

function toolOf({ binding }: ApprovalView): string {
  return plain(binding.tool, MAX_TOOL)
}

/**
 * A label may quote the call: for a script it is the beginning of its code. A title is the tool's own, whatever the
 * arguments.
 */
function whatOf({ shown: { title, label } }: ApprovalView, names: boolean): string {
  return plain(names ? (label ?? title) : title, MAX_WHAT)
}

/**
 * The credential that asked. The name that a client gives itself may be anything, and so may a node's name, or the
 * names of the callers it speaks for; such a name is therefore never shown alone.
 */
function whoOf({ binding, askedBy, askedFor }: ApprovalView): string {
  if (askedBy === undefined) return plain(binding.principal, MAX_WHO)
  const node = `the node ${plain(askedBy, MAX_WHO)}`
  return askedFor === undefined ? node : `${plain(askedFor, MAX_WHO)}, says ${node}`
}

/**
 * Makes untrusted text harmless: it must not begin a line that looks like ours, reverse text, contain links, or fill
 * the screen.
 */
function plain(words: string, most: number): string {
  return sanitizeLine(sanitizeText(words).replaceAll('://', ' '), most)
}
