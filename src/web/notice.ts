/**
 * Notice: what is told to people who do not look at the console, so that a call does not wait in vain. It leaves the
 * house, so it holds what a person needs to come and look, and no arguments: those may be codes and positions.
 */
import type { JsonObject } from '../core/json.ts'
import type { ApprovalView } from './views.ts'

export interface PersonNotice {
  /** ASCII: it may travel in a header. */
  readonly title: string
  readonly text: string
  /** The same, for programs. */
  readonly facts: JsonObject
}

/** More are counted. With the lengths below, a text stays under the 4,096 bytes that ntfy takes for one. */
const MAX_NAMED = 5
const MAX_LISTED = 100
const MAX_TOOL = 80
const MAX_WHAT = 60
const MAX_WHO = 40

export interface NoticeOptions {
  /** ASCII, as its schema has it. */
  readonly node: string
  /** Whether what calls are about is told, too. */
  readonly names: boolean
  readonly nowMs: number
}

/** Of at least one; the one that waits longest is first. */
export function createNotice(waiting: readonly ApprovalView[], { node, names, nowMs }: NoticeOptions): PersonNotice {
  const lines = waiting.slice(0, MAX_NAMED).map((asked) => sentence(asked, names, nowMs))
  const unnamed = waiting.length - lines.length
  if (unnamed > 0) lines.push(`And ${unnamed} more.`)
  const listed = waiting.slice(0, MAX_LISTED).map((asked) => factsOf(asked, names))
  return {
    title: `${node}: ${waiting.length === 1 ? 'a call waits' : `${waiting.length} calls wait`} for a person`,
    text: lines.join('\n'),
    facts: { event: 'approval.requested', node, count: waiting.length, waiting: listed },
  }
}

/** For whoever has just written an address down and wants to see that it is the right one. */
export function createTrialNotice(node: string): PersonNotice {
  const text = 'This is a trial: nothing waits. You will be told here when a call does.'
  return { title: `${node}: a trial`, text, facts: { event: 'trial', node, count: 0, waiting: [] } }
}

function sentence(asked: ApprovalView, names: boolean, nowMs: number): string {
  const minutes = Math.max(1, Math.floor((asked.expiresAtMs - nowMs) / 60_000))
  return `${whatOf(asked, names)}: ${toolOf(asked)}, asked by ${whoOf(asked)}.${votesOf(asked)} Answer within ${minutes} min.`
}

/** Who has said what, where several have to agree. */
function votesOf({ round }: ApprovalView): string {
  if (round === undefined) return ''
  const yeses = round.votes.filter(({ decision }) => decision === 'allow').map(({ voter }) => voter)
  return ` ${yeses.length} of ${round.need} yeses${yeses.length === 0 ? '' : ` (${yeses.join(', ')})`}.`
}

function factsOf(asked: ApprovalView, names: boolean): JsonObject {
  const { target } = asked.binding
  return {
    id: asked.id,
    tool: toolOf(asked),
    what: whatOf(asked, names),
    ...(names && target !== undefined ? { target: plain(target, MAX_WHAT) } : {}),
    effect: asked.shown.effect,
    asked_by: whoOf(asked),
    until: new Date(asked.expiresAtMs).toISOString(),
  }
}

function toolOf({ binding }: ApprovalView): string {
  return plain(binding.tool, MAX_TOOL)
}

/** A label may quote the call: of a script it is how that begins. A title is the tool's, whatever is asked of it. */
function whatOf({ shown: { title, label } }: ApprovalView, names: boolean): string {
  return plain(names ? (label ?? title) : title, MAX_WHAT)
}

/**
 * By credential: what a client calls itself is anybody's text. Never a node's word alone: it may be called like
 * somebody, and so may those for whom it says that it asks.
 */
function whoOf({ binding, askedBy, askedFor }: ApprovalView): string {
  if (askedBy === undefined) return plain(binding.principal, MAX_WHO)
  const node = `the node ${plain(askedBy, MAX_WHO)}`
  return askedFor === undefined ? node : `${plain(askedFor, MAX_WHO)}, says ${node}`
}

/** Words of strangers begin no line that looks like ours, turn none around, lead nowhere, and fill no screen. */
function plain(words: string, most: number): string {
  const line = words
    .replaceAll(/[\p{Cc}\s\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]+/gu, ' ')
    .replaceAll('://', ' ')
    .trim()
  const characters = Array.from(line)
  return characters.length <= most ? line : `${characters.slice(0, most - 1).join('')}…`
}
