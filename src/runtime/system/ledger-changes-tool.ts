/**
 * Ledger changes tool: ledger_changes lists what was changed in the house, or was requested, by whom, and with which result.
 *
 * Reads through the ledger.
 */
import { z } from 'zod'
import type { CapabilityBus } from '../../bus/bus.ts'
import type { Caller } from '../../bus/call.ts'
import type { Capability, Effect } from '../../bus/capability.ts'
import type { JsonObject } from '../../core/json.ts'
import type { ApprovalService } from '../../guard/approval-service.ts'
import type { Guard } from '../../guard/guard.ts'
import type { GrantService } from '../../guard/grants-store.ts'
import type { RecordedChange } from '../../ledger/ledger-reader.ts'
import type { RecordedChangeQuery } from '../../ledger/lookup-reader-store.ts'
import { readEntryBodyFields } from '../../ledger/projection-log.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'
import { createRuntimeOutcome } from '../runtime-dependencies.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { defineRuntimeTool } from '../runtime-tool.ts'
import { formatCursorScope, encodeCursor } from '../../toolbox/cursor.ts'
import { countFittingRows, cursorArgument, limitArgument, cutPage, readCursor } from '../paging.ts'
import { createIdArgument, timeArgument } from '../text-arguments.ts'
import {
  CHANGE_RESULTS,
  toLedgerChangeView,
  changeOutputSchema,
  matchesChangeFilter,
  NODE_FAMILY_NAME,
} from './ledger-change-view.ts'
import type { LedgerChangeView, ChangeFilter, LedgerChangeViewContext } from './ledger-change-view.ts'

const ledgerChanges = defineRuntimeTool({
  effect: 'reads',
  name: 'ledger_changes',
  title: 'What was changed, and by whom',
  description:
    'Answers “what changed in my home last night, and who did it?” and “what did the agent do today?” for everything behind this gateway: heating, HomeSeer, voice devices, other nodes, and what people did to the gateway (approvals, devices let in, tokens, the emergency stop). Lists calls that changed something or were to, newest first, from the signed ledger: when, who asked, what, on what, how it ended, who approved it. What somebody switched by hand, or a device did by itself, is not in it. Reads and plain records are left out. Prove any of them with ledger_proof.',
  input: z.strictObject({
    since: timeArgument.exactOptional(),
    until: timeArgument.exactOptional(),
    family: createIdArgument()
      .exactOptional()
      .describe(`Such as \`ebus\`, \`homeseer\`, \`devices\`; \`${NODE_FAMILY_NAME}\` for the gateway itself.`),
    caller: createIdArgument().exactOptional().describe('A name as in `caller`, `node`, `actor` or `client`.'),
    result: z.enum(CHANGE_RESULTS).exactOptional(),
    task_id: createIdArgument()
      .exactOptional()
      .describe('Only what its caller did for this task (`_meta["io.hearthbus/task"]`).'),
    session_id: createIdArgument()
      .exactOptional()
      .describe('The same for an audit session (`_meta["io.hearthbus/session"]`).'),
    text: createIdArgument()
      .exactOptional()
      .describe('Part of the tool’s name, its title, the target or the arguments.'),
    limit: limitArgument,
    cursor: cursorArgument,
  }),
  output: z.object({
    now: z.string().describe('What the clock of this node says.'),
    changes: z.array(changeOutputSchema),
    next_cursor: z
      .string()
      .exactOptional()
      .describe('There may be more: also after a short page, where a filter fitted few of those that were looked at.'),
  }),
})

/**
 * The rows per query, and the most that one call searches: a filter that matches nothing must not read a whole year.
 */
const STRIDE = 250
const MAX_LOOKED_AT = 2_000
/** A page of long answers ends early to fit a model: about 5,000 tokens. */
const MAX_PAGE_CHARACTERS = 15_000
/** A time after every time that an entry can have. */
const END_OF_TIME = '9999-12-31T23:59:59.999Z'

export type LedgerChangesToolBus = Pick<CapabilityBus, 'offer' | 'offers' | 'nodeName'>
export interface LedgerChangesToolGuard {
  readonly mayRead: Guard['mayRead']
  readonly approvals: Pick<ApprovalService, 'get'>
  readonly grants: Pick<GrantService, 'list'>
}

export function createLedgerChangesTool(
  records: RuntimeRecordDependencies,
  bus: LedgerChangesToolBus,
  guard: LedgerChangesToolGuard,
): readonly Capability[] {
  return [
    ledgerChanges.handledBy(
      async ({ limit, cursor, since, until, task_id: taskId, session_id: sessionId, ...filter }, { caller }) => {
        const work = { ...(taskId === undefined ? {} : { taskId }), ...(sessionId === undefined ? {} : { sessionId }) }
        const scope = formatCursorScope('ledger_changes', { since, until, ...work, ...filter })
        const after = readCursor<[number, number]>(cursor, scope, 2)
        if (!after.ok) return after
        const [atMs, seq] = after.value ?? [Date.parse(until ?? END_OF_TIME), 0]
        const around = surroundings(records, { bus, guard, caller })
        const range = { since: since ?? '', before: { at: timeText(atMs), seq }, work }
        const mayRead = ({ caller: principal, effect, target, capability }: LedgerChangeView): boolean =>
          guard.mayRead(caller, { principal, effect: effect as Effect, target }, bus.offer(capability))
        const { found, lookedTo } = look(records, range, { filter, around, mayRead, wanted: limit + 1 })
        const cursorOf = (last: Place): string => encodeCursor(scope, [Date.parse(last.at), last.seq])
        const size = { limit, maxCharacters: MAX_PAGE_CHARACTERS }
        const fitting = countFittingRows(found, size, ({ change }) => JSON.stringify(change).length)
        const { rows, ...next } = cutPage(found, fitting, ({ place }) => cursorOf(place))
        return createRuntimeOutcome({
          now: formatIsoTime(records.clock.now()),
          changes: rows.map(({ change }) => change as JsonObject),
          ...(lookedTo === undefined ? {} : { next_cursor: cursorOf(lookedTo) }),
          ...next,
        })
      },
    ),
  ]
}

type Place = Pick<RecordedChange, 'at' | 'seq'>

interface Search {
  readonly filter: ChangeFilter
  readonly around: LedgerChangeViewContext
  readonly mayRead: (change: LedgerChangeView) => boolean
  readonly wanted: number
}

interface Found {
  readonly place: Place
  readonly change: LedgerChangeView
}

/** `lookedTo`: the limit of the search was reached, and there may be more changes after this position. */
function look(
  { ledger }: RuntimeRecordDependencies,
  { before, ...range }: Omit<RecordedChangeQuery, 'limit'>,
  { filter, around, mayRead, wanted }: Search,
): { readonly found: readonly Found[]; readonly lookedTo?: Place } {
  const found: Found[] = []
  let place = before
  for (let looked = 0; looked < MAX_LOOKED_AT; looked += STRIDE) {
    const rows = ledger.changes({ ...range, before: place, limit: STRIDE })
    for (const { at, seq, entry, ...ends } of rows) {
      place = { at, seq }
      const change = entry && toLedgerChangeView(entry, ends, around)
      if (change !== undefined && mayRead(change) && matchesChangeFilter(change, filter)) found.push({ place, change })
      if (found.length >= wanted) return { found }
    }
    if (rows.length < STRIDE) return { found }
  }
  return { found, lookedTo: place }
}

function surroundings(
  { ledger }: RuntimeRecordDependencies,
  {
    bus,
    guard,
    caller,
  }: { readonly bus: LedgerChangesToolBus; readonly guard: LedgerChangesToolGuard; readonly caller: Caller },
): LedgerChangeViewContext {
  // The bodies beside the entries are for callers who may read about this house. Another node only gets what a proof
  // would show it: the entries.
  const mayReadBodies = caller.kind !== 'peer'
  // Both are computed on first use, because they are rarely needed, but then for many rows.
  const families = once(() => new Map(bus.offers().map(({ name, family }) => [firstPart(name), family.name])))
  const givers = once(() => new Map(guard.grants.list('all').map((grant) => [grant.id, grant.grantedBy])))
  return {
    offer: (name) => bus.offer(name),
    familyOf: (name) => families().get(firstPart(name)),
    nodeName: (node) => bus.nodeName(node),
    approval: (approval) => guard.approvals.get(approval),
    grantedBy: (grant) => givers().get(grant),
    words: (seq) => (mayReadBodies ? readEntryBodyFields(ledger, seq) : undefined) ?? {},
  }
}

function once<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => (made ??= make())
}

/** `device` of `device.desk-lamp.set`: the first part, which names of one family share. */
function firstPart(name: string): string {
  return name.split('.', 1)[0] ?? name
}

/** A cursor may contain any number; if it is not a valid time, the result is before the first entry. */
function timeText(ms: number): string {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? '' : time.toISOString()
}
