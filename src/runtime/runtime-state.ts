/**
 * Runtime state: the state from which the tools of spec 5 decide, computed from the log: the status of each task, the
 * open sessions, the end of each chain of thoughts, and the keys with which agents sign.
 *
 *   task.created ─▶ task.changed, task.transition      session.start ─▶ thought … ─▶ session.final      skill.change
 *
 * The rules of spec 5's pipeline are checked here, for every writer: no step is skipped, a task waits for others, and
 * DONE needs a reflection from after VERIFY.
 *
 * Pure, but for the state that it is given.
 */
import { fromHex, toHex } from '../core/bytes.ts'
import type { JsonObject } from '../core/json.ts'
import { readEntryTime, readEntryNumberField, readEntryTextField } from '../ledger/entry.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import type { EntryHandler, Projection } from '../ledger/projection.ts'
import { UndoableStateMap } from '../ledger/projection.ts'
import { computeFrontierRoot, computeLeafHash, createEmptyFrontier, extendFrontier } from '../ledger/tree.ts'
import type { TreeFrontier } from '../ledger/tree.ts'
import { SESSION_FINAL_KIND, SESSION_START_KIND } from './trail/session-entry.ts'
import { SKILL_CHANGE_KIND } from './skills/skill-document.ts'
import {
  isTransitionAllowed,
  INITIAL_TASK_STATUS,
  isTaskClosed,
  isRetryTransition,
  TASK_STATUSES,
} from './tasks/task-machine.ts'
import type { TaskStatus } from './tasks/task-machine.ts'
import { TASK_CHANGED_KIND, TASK_CREATED_KIND, TASK_TRANSITION_KIND } from './task-entries.ts'
import { AGENT_KEY_KIND } from './trail/agent-key-tools.ts'
import { THOUGHT_KIND } from './trail/thought-entry.ts'
import { computeThoughtHash, isThoughtSignedBy, THOUGHT_CHAIN_GENESIS_HASH } from './trail/thought.ts'
import type { ThoughtType } from './trail/thought.ts'

export interface TaskState {
  readonly status: TaskStatus
  readonly version: number
  readonly attempt: number
  readonly dependsOn: readonly string[]
  /** The task that it continues, and the tasks that continue it. */
  readonly follows: string | null
  readonly followedBy: readonly string[]
  readonly createdAt: string
  readonly updatedAt: string
  /** The entries of the last change, of the last move into VERIFY, and of the last reflection. */
  readonly logIndex: number
  readonly verifyIndex: number | null
  readonly reflectionIndex: number
}

export interface AuditSessionState {
  readonly taskId: string | null
  readonly startIndex: number
  readonly records: number
  /** The entry of its newest record. */
  readonly lastIndex: number
  readonly firstIndex: number
  /** The tree over its records; empty again once it is sealed. */
  readonly tree: TreeFrontier
  readonly finalizedAt: string | null
}

/** The newest thought of a task. */
export interface ThoughtChainHead {
  readonly hash: string
  readonly timestamp: string
}

/** The key with which an agent's records are signed. */
export interface AgentKey {
  /** The key in base64; `undefined` once a person revoked it and set no other. */
  readonly key: string | undefined
  /** Whether a person set it; then no signature can replace it. */
  readonly isGiven: boolean
  readonly since: string
  readonly logIndex: number
}

export interface SkillState {
  readonly contentHash: string
  /** The hash of the files beside the SKILL.md. */
  readonly filesHash: string
  readonly sourcePath: string
  readonly loadedAt: string
  readonly logIndex: number
}

export interface RuntimeState {
  readonly tasks: UndoableStateMap<TaskState>
  readonly sessions: UndoableStateMap<AuditSessionState>
  /** Sessions that are open, by the task for which they were begun. */
  readonly openSessions: UndoableStateMap<readonly string[]>
  readonly chains: UndoableStateMap<ThoughtChainHead>
  /** By agent: the first key that it signed with, or the one that a person set. */
  readonly agentKeys: UndoableStateMap<AgentKey>
  readonly signatures: UndoableStateMap<boolean>
  readonly skills: UndoableStateMap<SkillState>
}

/** The limit for this list; further followers are only found in their own entries. */
const MAX_FOLLOWERS = 64

const HASH = /^[0-9a-f]{64}$/
const INCOMPLETE = 'a field that such an entry needs is missing or wrong'

const taskEntries: Readonly<Record<string, EntryHandler<RuntimeState>>> = {
  [TASK_CREATED_KIND]: ({ tasks }, entry) => {
    const [id, dependsOn] = [readEntryTextField(entry, 'task_id'), dependenciesIn(entry, [])]
    if (id === undefined || dependsOn === undefined) return INCOMPLETE
    if (tasks.has(id)) return `task ${id} was created before`
    const missing = dependsOn.find((other) => !tasks.has(other))
    if (missing !== undefined) return `there is no task ${missing} to wait for`
    const follows = readEntryTextField(entry, 'follows') ?? null
    const followed = follows === null ? undefined : tasks.get(follows)
    if (follows !== null && followed === undefined) return `there is no task ${follows} to follow`
    if (follows !== null && followed !== undefined)
      tasks.set(follows, { ...followed, followedBy: [...followed.followedBy, id].slice(0, MAX_FOLLOWERS) })
    tasks.set(id, {
      status: INITIAL_TASK_STATUS,
      version: 1,
      attempt: 1,
      dependsOn,
      follows,
      followedBy: [],
      createdAt: entry.at,
      updatedAt: entry.at,
      logIndex: entry.seq,
      verifyIndex: null,
      reflectionIndex: -1,
    })
    return undefined
  },

  [TASK_CHANGED_KIND]: (state, entry) => changeTask(state, entry, undefined),

  [TASK_TRANSITION_KIND]: (state, entry) => {
    const to = TASK_STATUSES.find((status) => status === entry['to'])
    return to === undefined ? INCOMPLETE : changeTask(state, entry, to)
  },
}

const trailEntries: Readonly<Record<string, EntryHandler<RuntimeState>>> = {
  [SESSION_START_KIND]: ({ sessions, openSessions, tasks }, entry) => {
    const [id, taskId] = [readEntryTextField(entry, 'session_id'), readEntryTextField(entry, 'task_id') ?? null]
    if (id === undefined) return INCOMPLETE
    if (sessions.has(id)) return `session ${id} was begun before`
    if (taskId !== null && !tasks.has(taskId)) return `there is no task ${taskId}`
    sessions.set(id, {
      taskId,
      startIndex: entry.seq,
      records: 0,
      firstIndex: entry.seq,
      lastIndex: entry.seq,
      tree: createEmptyFrontier(),
      finalizedAt: null,
    })
    if (taskId !== null) openSessions.set(taskId, [...(openSessions.get(taskId) ?? []), id])
    return undefined
  },

  [THOUGHT_KIND]: (state, entry) => {
    const text = (field: string): string | undefined => readEntryTextField(entry, field)
    const [taskId, agent, hash, timestamp] = [text('task_id'), text('agent_id'), text('hash'), text('timestamp')]
    if (taskId === undefined || agent === undefined || hash === undefined || timestamp === undefined) return INCOMPLETE
    if (!HASH.test(hash)) return INCOMPLETE
    const [sessionId, key, signature] = [text('session_id'), text('public_key'), text('signature')]
    const session = sessionId === undefined ? undefined : state.sessions.get(sessionId)
    if (sessionId !== undefined && session?.finalizedAt !== null) return `session ${sessionId} was not open`
    if (text('prev_hash') !== (state.chains.get(taskId)?.hash ?? THOUGHT_CHAIN_GENESIS_HASH))
      return `it does not continue the chain of task ${taskId}`
    const task = state.tasks.get(taskId)
    if (task === undefined) return `there is no task ${taskId}`
    const known = state.agentKeys.get(agent)
    if (known !== undefined && known.key !== key) return `it was not signed with the key of ${agent}`
    if (signature !== undefined && state.signatures.has(signature)) return 'this signed statement was recorded before'
    if (known === undefined && key !== undefined)
      state.agentKeys.set(agent, { key, isGiven: false, since: entry.at, logIndex: entry.seq })
    if (signature !== undefined) state.signatures.set(signature, true)
    state.chains.set(taskId, { hash, timestamp })
    if (sessionId !== undefined && session !== undefined)
      state.sessions.set(sessionId, withRecord(session, entry.seq, hash))
    if (entry['type'] === 'reflection') state.tasks.set(taskId, { ...task, reflectionIndex: entry.seq })
    return undefined
  },

  [SESSION_FINAL_KIND]: ({ sessions, openSessions }, entry) => {
    const id = readEntryTextField(entry, 'session_id')
    const session = id === undefined ? undefined : sessions.get(id)
    if (id === undefined || session?.finalizedAt !== null) return 'no such session was open'
    if (readEntryNumberField(entry, 'record_count') !== session.records)
      return `session ${id} has ${session.records} records, and another number was sealed`
    if (readEntryTextField(entry, 'root') !== toHex(computeFrontierRoot(session.tree)))
      return `the records of session ${id} have another root`
    if (entry['first_index'] !== session.firstIndex || entry['last_index'] !== session.lastIndex)
      return `the records of session ${id} are the entries ${session.firstIndex} to ${session.lastIndex}`
    sessions.set(id, { ...session, tree: createEmptyFrontier(), finalizedAt: entry.at })
    const { taskId } = session
    if (taskId !== null)
      openSessions.set(
        taskId,
        (openSessions.get(taskId) ?? []).filter((other) => other !== id),
      )
    return undefined
  },
}

const agentEntries: Readonly<Record<string, EntryHandler<RuntimeState>>> = {
  // The guard's own state checks who may write it (principal-state.ts).
  [AGENT_KEY_KIND]: ({ agentKeys }, entry) => {
    const [agent, key] = [readEntryTextField(entry, 'agent_id'), readEntryTextField(entry, 'public_key')]
    if (agent === undefined) return INCOMPLETE
    if (readEntryTextField(entry, 'previous_key') !== agentKeys.get(agent)?.key) return `${agent} had another key`
    agentKeys.set(agent, { key, isGiven: true, since: entry.at, logIndex: entry.seq })
    return undefined
  },
}

const skillEntries: Readonly<Record<string, EntryHandler<RuntimeState>>> = {
  [SKILL_CHANGE_KIND]: ({ skills }, entry) => {
    const text = (field: string): string | undefined => readEntryTextField(entry, field)
    const [name, contentHash, sourcePath] = [text('name'), text('content_hash'), text('source_path')]
    const filesHash = text('files_hash') ?? ''
    if (name === undefined || sourcePath === undefined) return INCOMPLETE
    if (text('previous_hash') !== skills.get(name)?.contentHash) return `skill ${name} was another before`
    if (contentHash === undefined) skills.delete(name)
    else skills.set(name, { contentHash, filesHash, sourcePath, loadedAt: entry.at, logIndex: entry.seq })
    return undefined
  },
}

export const runtimeProjection: Projection<RuntimeState> = {
  name: 'runtime',
  initial: (journal) => ({
    tasks: new UndoableStateMap(journal),
    sessions: new UndoableStateMap(journal),
    openSessions: new UndoableStateMap(journal),
    chains: new UndoableStateMap(journal),
    agentKeys: new UndoableStateMap(journal),
    signatures: new UndoableStateMap<boolean>(journal),
    skills: new UndoableStateMap(journal),
  }),
  apply: { ...taskEntries, ...trailEntries, ...agentEntries, ...skillEntries },
  bodyChecks: { [THOUGHT_KIND]: explainThoughtContradiction },
}

/** The tree is copied: the state before stays what it was, for a transaction that is undone. */
function withRecord(session: AuditSessionState, seq: number, hash: string): AuditSessionState {
  const tree = { size: session.tree.size, subtrees: [...session.tree.subtrees] }
  extendFrontier(tree, computeLeafHash(fromHex(hash)))
  const firstIndex = session.records === 0 ? seq : session.firstIndex
  return { ...session, records: session.records + 1, firstIndex, lastIndex: seq, tree }
}

/** What contradicts between a thought and its words: the hash of its chain, or the author's signature. */
function explainThoughtContradiction(entry: LedgerEntry, body: JsonObject): string | undefined {
  const { content } = body
  if (typeof content !== 'string') return 'it has no words'
  const text = (field: string): string => readEntryTextField(entry, field) ?? ''
  const words = { type: text('type') as ThoughtType, task_id: text('task_id'), content }
  const hashed = { ...words, id: text('id'), timestamp: text('timestamp'), prev_hash: text('prev_hash') }
  if (computeThoughtHash(hashed) !== entry['hash']) return 'hash is not that of its fields'
  const [key, value] = [readEntryTextField(entry, 'public_key'), readEntryTextField(entry, 'signature')]
  if (key === undefined && value === undefined) return undefined
  if (key === undefined || value === undefined) return 'it has a key without a signature, or the reverse'
  const isSigned = isThoughtSignedBy({ ...words, agent_id: text('agent_id') }, { public_key: key, value })
  return isSigned ? undefined : 'signature is not one of these words by public_key'
}

function changeTask({ tasks }: RuntimeState, entry: LedgerEntry, to: TaskStatus | undefined): string | undefined {
  const id = readEntryTextField(entry, 'task_id')
  const task = id === undefined ? undefined : tasks.get(id)
  if (id === undefined || task === undefined) return 'there is no such task'
  if (entry['version'] !== task.version + 1) return `task ${id} is at version ${task.version}`
  if (isTaskClosed(task.status)) return `task ${id} is ${task.status} and does not change any more`
  const dependsOn = dependenciesIn(entry, task.dependsOn)
  if (dependsOn === undefined) return INCOMPLETE
  if (to !== undefined) {
    if (entry['from'] !== task.status) return `task ${id} is ${task.status}`
    if (!isTransitionAllowed(task.status, to)) return `a task in ${task.status} cannot go to ${to}`
    if (to === 'DONE' && task.reflectionIndex <= (task.verifyIndex ?? Infinity))
      return `task ${id} has no reflection from after VERIFY`
    const open = to === 'APPLY' ? dependsOn.find((other) => tasks.get(other)?.status !== 'DONE') : undefined
    if (open !== undefined) return `task ${id} waits for ${open}`
  }
  if (entry['previous_entry'] !== task.logIndex) return `it does not name the last change of task ${id}`
  tasks.set(id, {
    ...task,
    dependsOn,
    status: to ?? task.status,
    version: task.version + 1,
    attempt: to !== undefined && isRetryTransition(task.status, to) ? task.attempt + 1 : task.attempt,
    // The wall clock may have been set back; `updatedAt` never decreases.
    updatedAt: readEntryTime(entry) > Date.parse(task.updatedAt) ? entry.at : task.updatedAt,
    logIndex: entry.seq,
    verifyIndex: to === 'VERIFY' ? entry.seq : task.verifyIndex,
  })
  return undefined
}

/** `before` where the entry does not set them; `undefined` if they are no list of ids. */
function dependenciesIn({ depends_on: ids }: LedgerEntry, before: readonly string[]): readonly string[] | undefined {
  if (ids === undefined) return before
  return Array.isArray(ids) && ids.every((id) => typeof id === 'string') ? ids : undefined
}
