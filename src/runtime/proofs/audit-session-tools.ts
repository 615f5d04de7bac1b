/**
 * Audit session tools: the handlers of the proof store's tools.
 *
 *   open ──thought──▶ open ──finalize (verify, then close, in one transaction)──▶ sealed
 */
import { randomUUID } from 'node:crypto'
import type { Call, Outcome } from '../../bus/call.ts'
import type { Capability } from '../../bus/capability.ts'
import { toHex } from '../../core/bytes.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { createRuntimeOutcome, toRuntimeOutcome, readCallOrigin } from '../runtime-dependencies.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { createRuntimeFault } from '../faults.ts'
import { runGeneratorWithoutYielding, runGeneratorYielding } from '../generator-runner.ts'
import { createUnknownSessionFault } from '../trail/audit-session-id.ts'
import { createUnknownTaskFault } from '../trail/thought-recording.ts'
import type { ThoughtTrailStores } from '../trail/thought-recording.ts'
import { verifyThoughtTrail } from '../trail/trail-verification.ts'
import type { ThoughtTrailReport } from '../trail/trail-verification.ts'
import { formatCursorScope, encodeCursor } from '../../toolbox/cursor.ts'
import { cutPage, readCursor } from '../paging.ts'
import {
  auditSessionListTool,
  auditSessionStartTool,
  merkleFinalizeTool,
  merkleRootTool,
} from './audit-session-definitions.ts'
import { matchesSessionSealEntry, SESSION_FINAL_KIND, createSessionStartEvent } from '../trail/session-entry.ts'
import type { AuditSessionState } from '../runtime-state.ts'
import type { AuditSessionWithRecordCount, SealedSessionRoot } from '../trail/audit-session-reader-store.ts'
import { computeAuditSessionRoot } from './session-tree.ts'

/** The signed checkpoints and proofs that finalizing needs. */
export interface CheckpointProofSource {
  readonly proofOf: (logIndex: number) => Promise<Result<Proof, Fault>>
}

interface Proof {
  readonly checkpoint: string
  readonly proof: string
}

export function createAuditSessionTools(
  records: RuntimeRecordDependencies,
  stores: ThoughtTrailStores,
  prover: CheckpointProofSource,
): readonly Capability[] {
  const { database } = records
  const { sessions } = stores
  return [
    auditSessionStartTool.handledBy(async ({ intent, task_id: taskId, session_id: wanted }, call) => {
      // Spec 5's ERR_SESSION_EXISTS keeps its meaning; a free id is refused as well.
      if (wanted !== undefined) return fail(chosenId(wanted, stores.state.sessions.has(wanted)))
      return toRuntimeOutcome(
        await database.commit(() => {
          if (taskId !== undefined && !stores.state.tasks.has(taskId)) return fail(createUnknownTaskFault(taskId))
          return ok(startSession(records, { intent, taskId, call }))
        }),
      )
    }),

    merkleFinalizeTool.handledBy(
      async ({ session_id: sessionId, dry_run: isDryRun, close_empty: mayBeEmpty }, call) => {
        const request = { sessionId, call, isDryRun, mayBeEmpty }
        const finalized = await finalize(records, stores, request)
        if (!finalized.ok) return finalized
        const { content, seal, leftOut } = finalized.value
        if (seal === undefined) return createRuntimeOutcome({ ...content, ...leftOut, dry_run: true })
        // The seal is durable; a checkpoint that cannot be signed now is available later, from ledger_proof.
        const proven = await prover.proofOf(seal.log_index)
        return createRuntimeOutcome({
          ...toAnswer(seal),
          ...leftOut,
          ...(proven.ok ? proven.value : { unproven: proven.fault.message }),
        })
      },
    ),

    merkleRootTool.handledBy(async ({ session_id: sessionId }) => {
      const root = sessions.root(sessionId)
      if (root !== undefined) return sealedRoot(records, root)
      if (!stores.state.sessions.has(sessionId)) return fail(createUnknownSessionFault(sessionId))
      return fail(
        createRuntimeFault('ERR_NOT_FINALIZED', `Session ${sessionId} is open; merkle_finalize seals it.`, {
          session_id: sessionId,
        }),
      )
    }),

    auditSessionListTool.handledBy(async ({ limit, cursor, ...filter }) => {
      const scope = formatCursorScope('audit_session_list', filter)
      // Newest first: the cursor is the entry that began the page's last session.
      const before = readCursor<[number]>(cursor, scope, 1)
      if (!before.ok) return before
      const found = sessions.list(filter, { before: before.value?.[0] ?? Number.MAX_SAFE_INTEGER, limit: limit + 1 })
      const { rows, ...next } = cutPage(found, limit, (last) => encodeCursor(scope, [last.log_index]))
      return createRuntimeOutcome({ sessions: rows.map((session) => toListed(records, stores, session)), ...next })
    }),
  ]
}

/** A root is shown only while the ledger entry that sealed it agrees with the table. */
function toListed(
  { ledger }: RuntimeRecordDependencies,
  { sessions, state }: ThoughtTrailStores,
  session: AuditSessionWithRecordCount,
): { readonly [field: string]: string | number | null } {
  const { principal, finalized_at: finalizedAt, ...same } = session
  const root = sessions.root(session.session_id)
  const seal = root && ledger.entry(root.log_index)
  const isSealed = root !== undefined && seal !== undefined && matchesSessionSealEntry(root, seal, session)
  const isOpen = root === undefined && finalizedAt === null
  const facts = state.sessions.get(session.session_id)
  const isBegun =
    facts?.startIndex === session.log_index && facts.finalizedAt === finalizedAt && facts.taskId === session.task_id
  return {
    ...same,
    started_by: principal,
    state: !isBegun || (!isOpen && !isSealed) ? 'broken' : isOpen ? 'open' : 'sealed',
    finalized_at: finalizedAt,
    root: isSealed ? root.root : null,
    seal_index: isSealed ? root.log_index : null,
  }
}

/** A root is only valid if the ledger agrees. */
function sealedRoot({ ledger }: RuntimeRecordDependencies, root: SealedSessionRoot): Outcome {
  const entry = ledger.entry(root.log_index)
  if (entry !== undefined && matchesSessionSealEntry(root, entry)) return createRuntimeOutcome(toAnswer(root))
  return fail(
    createRuntimeFault(
      'ERR_CHAIN_BROKEN',
      `The stored root of session ${root.session_id} is not the one in the ledger.`,
      {
        session_id: root.session_id,
        log_index: root.log_index,
      },
    ),
  )
}

interface Start {
  readonly intent: string
  readonly taskId: string | undefined
  readonly call: Call
}

interface StartedSession {
  readonly [field: string]: string | number | null
}

function startSession(records: RuntimeRecordDependencies, { intent, taskId, call }: Start): StartedSession {
  const { principal, client = null, trace_id } = readCallOrigin(call)
  const named = { session_id: randomUUID(), task_id: taskId ?? null }
  const { seq, at } = records.ledger.appendIn(
    { ...createSessionStartEvent({ ...named, principal, client }), trace_id },
    { intent },
  )
  return { ...named, intent, started_at: at, log_index: seq }
}

interface Finalizing {
  readonly sessionId: string
  readonly call: Call
  readonly isDryRun: boolean
  readonly mayBeEmpty: boolean
}

type SealContent = Pick<SealedSessionRoot, 'session_id' | 'root' | 'record_count' | 'first_index' | 'last_index'>

interface Finalized {
  readonly content: SealContent
  /** `undefined` for a dry run. */
  readonly seal: SealedSessionRoot | undefined
  readonly leftOut: JsonObject
}

/**
 * Verifies most of a long session before the transaction, yielding to others. Records that were added since are
 * verified inside of it, and none can be added between that and the seal.
 */
async function finalize(
  records: RuntimeRecordDependencies,
  stores: ThoughtTrailStores,
  request: Finalizing,
): Promise<Result<Finalized, Fault>> {
  const { sessionId, call } = request
  // Checked before the verification, so that a closed or unknown session costs nothing.
  const session = openSession(stores, sessionId)
  if (!session.ok) return session
  const checkedTo = records.ledger.size()
  const stretch = { from: session.value.startIndex, to: checkedTo, sessionId }
  const walked = await runGeneratorYielding(verifyThoughtTrail(stores, stretch), call.signal)
  if (!walked.ok) return walked
  const broken = brokenChain(sessionId, walked.value)
  if (broken !== undefined) return fail(broken)
  return records.database.commit(() => seal(records, stores, { ...request, checkedTo }))
}

function seal(
  records: RuntimeRecordDependencies,
  stores: ThoughtTrailStores,
  { sessionId, call, checkedTo, isDryRun, mayBeEmpty }: Finalizing & { readonly checkedTo: number },
): Result<Finalized, Fault> {
  // Checked again: two concurrent calls may both have verified, and only one may seal.
  const session = openSession(stores, sessionId)
  if (!session.ok) return session
  const rest = runGeneratorWithoutYielding(
    verifyThoughtTrail(stores, { from: checkedTo, to: records.ledger.size(), sessionId }),
  )
  const broken = brokenChain(sessionId, rest)
  if (broken !== undefined) return fail(broken)
  const thoughts = stores.thoughts.ofSession(sessionId)
  if (thoughts.length === 0 && !mayBeEmpty)
    return fail(
      createRuntimeFault(
        'ERR_NO_RECORDS',
        `Session ${sessionId} has no records to seal; \`close_empty\` closes it all the same.`,
        {
          session_id: sessionId,
        },
      ),
    )
  const { startIndex, taskId } = session.value
  const content = {
    session_id: sessionId,
    // In the order of recording, to which the root commits.
    root: computeAuditSessionRoot(thoughts.map(({ hash }) => hash)),
    record_count: thoughts.length,
    first_index: thoughts[0]?.log_index ?? startIndex,
    last_index: thoughts.at(-1)?.log_index ?? startIndex,
  }
  const tasks = new Set([...(taskId === null ? [] : [taskId]), ...thoughts.map(({ task_id }) => task_id)])
  const leftOut = recordsLeftOut(stores, tasks)
  if (isDryRun) return ok({ content, seal: undefined, leftOut })
  const { seq, at, leafHash } = records.ledger.appendIn({
    kind: SESSION_FINAL_KIND,
    ...content,
    ...readCallOrigin(call),
  })
  return ok({ content, seal: { ...content, finalized_at: at, log_index: seq, leaf_hash: toHex(leafHash) }, leftOut })
}

const MAX_LEFT_OUT_LISTED = 20

/**
 * The number of records about the session's tasks that are in no session, because the caller must be told what the seal
 * does not cover.
 */
function recordsLeftOut({ thoughts }: ThoughtTrailStores, tasks: ReadonlySet<string>): JsonObject {
  const found = [...tasks].map((taskId) => thoughts.outsideSessions(taskId, MAX_LEFT_OUT_LISTED))
  const listed = found.flatMap(({ rows }) => rows).slice(0, MAX_LEFT_OUT_LISTED)
  return {
    left_out: listed.map(({ id, task_id, type, agent_id, timestamp, log_index }) => ({
      id,
      task_id,
      type,
      agent_id,
      timestamp,
      log_index,
    })),
    left_out_count: found.reduce((sum, { count }) => sum + count, 0),
  }
}

/** Finds an open session. The log decides whether it is open, whatever the row says. */
function openSession({ state }: ThoughtTrailStores, sessionId: string): Result<AuditSessionState, Fault> {
  const session = state.sessions.get(sessionId)
  if (session === undefined) return fail(createUnknownSessionFault(sessionId))
  if (session.finalizedAt === null) return ok(session)
  return fail(
    createRuntimeFault(
      'ERR_ALREADY_FINALIZED',
      `Session ${sessionId} is already finalized; merkle_root returns its root.`,
      {
        session_id: sessionId,
        finalized_at: session.finalizedAt,
      },
    ),
  )
}

function brokenChain(sessionId: string, report: ThoughtTrailReport): Fault | undefined {
  const { broken_count, missing_count, first_broken_at, findings } = report
  if (broken_count + missing_count === 0) return undefined
  return createRuntimeFault(
    'ERR_CHAIN_BROKEN',
    `Records of session ${sessionId} were changed or deleted; it is not sealed.`,
    {
      session_id: sessionId,
      broken_count,
      missing_count,
      first_broken_at: first_broken_at ?? null,
      findings: findings.map((finding) => ({ ...finding })),
    },
  )
}

function toAnswer(root: SealedSessionRoot): { readonly [field: string]: string | number } {
  return { ...root, timestamp: root.finalized_at }
}

/** Callers that chose ids could take those of others, or present one session as another. */
function chosenId(sessionId: string, taken: boolean): Fault {
  return taken
    ? createRuntimeFault('ERR_SESSION_EXISTS', `There is a session ${sessionId} already.`, { session_id: sessionId })
    : createRuntimeFault('ERR_SESSION_ID_REFUSED', 'Session ids are minted by the server; leave `session_id` out.', {
        session_id: sessionId,
      })
}
