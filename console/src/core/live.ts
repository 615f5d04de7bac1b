/**
 * Live: what the page knows, as signals. Filled once from the API, then kept current by the stream.
 *
 * Everything that grows is bounded: a page that stays open for a month is as light as on its first day.
 */
import { computed, signal } from '@preact/signals'
import type { StatusView, ToolSummaryView } from '../../../src/web/views.ts'
import type {
  ApprovalView,
  CurrentUserView,
  ConsoleStreamEvents,
  CallTraceView,
  VerificationView,
} from '../../../src/web/views.ts'
import { Failure, forgetKey, get, hasKey, remove, whenSignedOut } from './api.ts'
import { gatewayMs, setClock } from './clock.ts'
import { ring } from './notice.ts'
import { openStream } from './stream.ts'
import type { Connection } from './stream.ts'

export const MAX_CALLS = 2_000
const MAX_APPROVALS = 300
const RETRY_MS = 2_000
/** What the stream says again was among these, at the most. */
const NEWEST = 100

/** `undefined`: not known yet. `null`: nobody is signed in. */
export const me = signal<CurrentUserView | null | undefined>(undefined)
/** Whether the last session ended without its page being asked: too old, too quiet, or ended by somebody. */
export const wasEnded = signal(false)
export const connection = signal<Connection>('connecting')
/** When the gateway was last heard: of a laptop that slept, when it fell asleep and not when it noticed. */
let heardAtMs = gatewayMs()
export const lostAtMs = signal<number | undefined>(undefined)
export const status = signal<StatusView | undefined>(undefined)
export const tools = signal<readonly ToolSummaryView[] | undefined>(undefined)
/** Newest first. */
export const calls = signal<readonly CallTraceView[]>([])
export const approvals = signal<readonly ApprovalView[] | undefined>(undefined)
export const ledger = signal<ConsoleStreamEvents['ledger'] | undefined>(undefined)
export const verification = signal<VerificationView | undefined>(undefined)
/** Counts up when what can be called, or where, may have changed. */
export const registryTurn = signal(0)
/** Counts up with every look at the calls. */
export const callsTurn = signal(0)
export const historyTurn = signal(0)
/** The gateway's time, once a second, for ages. */
export const now = signal(gatewayMs())
/** The same, to the hour, for what need not be renewed each second. */
export const hour = computed(() => now.value - (now.value % 3_600_000))

export const openApprovals = computed(() => (approvals.value ?? []).filter(({ state }) => state === 'requested'))
export const toolNames = computed(() => new Set((tools.value ?? []).map(({ name }) => name)))
export const mayDecide = computed(() => me.value?.role === 'approver' || me.value?.role === 'admin')
export const mayAct = computed(() => me.value?.role === 'agent' || me.value?.role === 'admin')
export const isAdmin = computed(() => me.value?.role === 'admin')

type ResourceListener = (uris: readonly string[] | 'any') => void
const resourceListeners = new Set<ResourceListener>()

/**
 * Told when something behind one of the resources changed. `any`: what was read may be old although nobody says so,
 * because the page was away, or because the house has been quiet for a while.
 */
export function onResources(listener: ResourceListener): () => void {
  resourceListeners.add(listener)
  return () => resourceListeners.delete(listener)
}

let closeStream: (() => void) | undefined

/** Finds out who is here, and starts listening if it is somebody. */
export async function start(): Promise<void> {
  if (!hasKey()) {
    me.value = null
    return
  }
  try {
    const known = await get<CurrentUserView>('/api/session')
    me.value = known.signedIn ? known : null
    wasEnded.value = false
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 0) {
      me.value = null
      return
    }
    // Nobody answers: it will, and then the stream says whether the session still is one.
    connection.value = 'lost'
    setTimeout(() => void start(), 2_000)
    return
  }
  if (me.value !== null) listen()
}

export async function signOut(): Promise<void> {
  try {
    await remove('/api/session')
  } finally {
    leave(false)
  }
}

async function reloadTools(): Promise<void> {
  const beganMs = Date.now()
  tools.value = await get<readonly ToolSummaryView[]>('/api/tools?brief=1')
  toolsTookMs = Date.now() - beganMs
}

export async function reloadStatus(): Promise<void> {
  status.value = await get<StatusView>('/api/status')
}

export function rememberApproval(approval: ApprovalView): void {
  const others = (approvals.peek() ?? []).filter(({ id }) => id !== approval.id)
  approvals.value = [approval, ...others]
    .toSorted((left, right) => (left.id < right.id ? 1 : -1))
    .slice(0, MAX_APPROVALS)
}

/** The stream says the same to everybody; who has to say yes may see more. */
async function readOpenly({ id }: ApprovalView): Promise<void> {
  try {
    const shown = await get<ApprovalView>(`/api/approvals/${encodeURIComponent(id)}`)
    // Somebody may have decided meanwhile, and that was heard already.
    if (approvals.peek()?.find((known) => known.id === id)?.state === 'requested') rememberApproval(shown)
  } catch {
    // What the stream said stays; a reload asks again.
  }
}

function leave(ended: boolean): void {
  wasEnded.value = ended
  refreshTurn++
  held = undefined
  closeStream?.()
  closeStream = undefined
  forgetKey()
  for (const state of [status, tools, approvals, ledger, verification]) state.value = undefined
  calls.value = []
  me.value = null
}

function listen(): void {
  closeStream?.()
  heardAtMs = gatewayMs()
  closeStream = openStream({
    onConnection: (next) => {
      if (next === 'signed-out') return leave(true)
      lostAtMs.value = next === 'lost' ? heardAtMs : undefined
      connection.value = next
    },
    onHeard: () => {
      heardAtMs = gatewayMs()
    },
    onEvent: (name, data) => {
      const apply = (): void => HANDLERS[name]?.(data as never)
      // What happens while everything is asked for again comes after the answer, or the answer would undo it.
      if (held === undefined || name === 'hello') apply()
      else held.push(apply)
    },
  })
}

/** Events that wait for the answer to `refresh`; as many as come in that moment. */
let held: (() => void)[] | undefined
let refreshTurn = 0

const HANDLERS: { readonly [Name in keyof ConsoleStreamEvents]: (data: ConsoleStreamEvents[Name]) => void } = {
  hello: ({ resumed, atMs }) => {
    setClock(atMs)
    now.value = gatewayMs()
    if (!resumed) void refresh()
  },
  calls: ({ calls: came }) => {
    const known = new Set(
      calls
        .peek()
        .slice(0, came.length + NEWEST)
        .map(callKey),
    )
    const fresh = came.filter((call) => !known.has(callKey(call)))
    calls.value = [...fresh, ...calls.peek()].slice(0, MAX_CALLS)
    callsTurn.value++
  },
  approval: (approval) => {
    const known = approvals.peek()?.find(({ id }) => id === approval.id)
    rememberApproval(approval)
    if (known === undefined && approval.state === 'requested') ring()
    if (approval.state === 'requested' && mayDecide.peek()) void readOpenly(approval)
  },
  registry: () => {
    registryTurn.value++
    scheduleTools()
  },
  resource: ({ uris }) => tellResources(uris),
  ledger: (view) => {
    ledger.value = view
  },
  verification: (view) => {
    verification.value = view
  },
  state: (view) => {
    const known = status.peek()
    if (known === undefined) return
    const services = known.services.map((service) => {
      const next = view.services.find(({ name }) => name === service.name)?.status
      return next === undefined ? service : { ...service, status: next as typeof service.status }
    })
    status.value = { ...known, stopped: view.stopped, services }
  },
  history: () => {
    historyTurn.value++
    tellResources('any')
  },
}

function tellResources(changed: Parameters<ResourceListener>[0]): void {
  for (const listener of resourceListeners) listener(changed)
}

/** Whatever was known may be old: the stream did not continue. */
async function refresh(): Promise<void> {
  const turn = ++refreshTurn
  held ??= []
  try {
    const [traces, known] = await Promise.all([
      get<readonly CallTraceView[]>(`/api/traces?limit=${MAX_CALLS}`),
      get<readonly ApprovalView[]>(`/api/approvals?limit=${MAX_APPROVALS}`),
      reloadStatus(),
      reloadTools(),
    ])
    if (turn !== refreshTurn) return
    const wasAway = approvals.peek() !== undefined
    calls.value = traces
    approvals.value = known
    registryTurn.value++
    if (wasAway) tellResources('any')
  } catch {
    // A gateway that is busy, or gone: the page is not left with half of it.
    setTimeout(() => turn === refreshTurn && me.peek() && void refresh(), RETRY_MS)
  } finally {
    if (turn === refreshTurn) {
      const waiting = held ?? []
      held = undefined
      for (const apply of waiting) apply()
    }
  }
}

/** Nested calls share a trace; what each took, to a fraction of a millisecond, tells them apart. */
export function callKey({ traceId, capability, ms }: CallTraceView): string {
  return `${traceId} ${capability} ${ms}`
}

let toolsTimer: ReturnType<typeof setTimeout> | undefined
let toolsTookMs = 0

/** A device that connects brings many tools at once, and a long list is fetched less often than a short one. */
function scheduleTools(): void {
  if (toolsTimer !== undefined) return
  toolsTimer = setTimeout(
    () => {
      toolsTimer = undefined
      reloadTools().catch(() => undefined)
    },
    Math.max(500, toolsTookMs * 10),
  )
}

whenSignedOut(() => leave(true))

// Ages need no second hand that nobody sees.
setInterval(() => {
  if (!document.hidden) now.value = gatewayMs()
}, 1_000)
