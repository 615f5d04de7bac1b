/**
 * Admin execution: carries out one administration call, by the route that the owner configured.
 *
 *   adapter  the script on HomeSeer, and nothing else
 *   direct   HomeSeer's own requests; where there is none, the adapter if the owner allows the fallback
 *   auto     direct unless it is known not to work, else the adapter
 *
 * An answer that is not the adapter's own means that there is no adapter: nothing was applied, whatever it says.
 */
import { newUlid } from '../../core/ids.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { Fault } from '../../core/fault.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { HomeseerToolContext } from '../tools/homeseer-tool-context.ts'
import { createHs4Fault, createHomeseerReadFault, createHomeseerWriteFault } from '../tools/faults.ts'
import {
  ADMIN_ADAPTER_SCRIPT_FILE_NAME,
  createAdminAdapterHttpRequest,
  type AdminAdapterOptions,
  type AdminAdapterReply,
} from '../wire/admin-adapter.ts'
import { mayHomeseerHaveActed, type HomeseerLinkFault } from '../wire/link-fault.ts'
import type { UnsupportedAdminOperationCache } from './unsupported-operation-cache.ts'
import { findDirectAdminRoute } from './direct-admin-route.ts'

export interface ExecutedAdminOperation {
  readonly route: 'adapter' | 'direct'
  readonly transport: string
  readonly before: JsonObject | undefined
  readonly after: JsonObject | undefined
  readonly raw: Json
  readonly steps: readonly JsonObject[]
}

/** The steps list what was tried, also after a failure; they are the contract's `steps[]`. */
export interface FailedAdminOperation {
  readonly fault: Fault
  readonly steps: readonly JsonObject[]
  /** `unsupported` only with these arguments; with others this route may still work. */
  readonly onlyTheseArguments?: boolean
}

/** The value of `steps[].transport` in the envelope. */
const TRANSPORT = 'script:adapter'

export interface AdminOperationRequest {
  readonly op: string
  readonly args: JsonObject
  readonly signal: AbortSignal
  readonly cache: UnsupportedAdminOperationCache
}

/**
 * Falls back only after `unsupported`: a call that failed in any other way may have been carried out, and is not
 * repeated.
 */
export async function executeAdminOperation(
  homeseer: HomeseerToolContext,
  task: AdminOperationRequest,
): Promise<Result<ExecutedAdminOperation, FailedAdminOperation>> {
  const { executionMode: mode, directFallback } = homeseer.config.admin
  if (mode === 'adapter') return byAdapter(homeseer, task, [])
  if (mode === 'auto' && task.cache.isUnsupported(task.op)) {
    const known = { name: 'execute', status: 'skipped', route: 'direct', reason: 'known not to be supported' }
    return byAdapter(homeseer, task, [known])
  }
  const direct = await directly(homeseer, task)
  if (direct.ok || direct.fault.fault.kind !== 'unsupported') return direct
  if (mode === 'auto' && direct.fault.onlyTheseArguments !== true) task.cache.learnUnsupported(task.op)
  if (mode === 'direct' && !directFallback) return direct
  return byAdapter(homeseer, task, direct.fault.steps)
}

async function directly(
  homeseer: HomeseerToolContext,
  { op, args, signal }: AdminOperationRequest,
): Promise<Result<ExecutedAdminOperation, FailedAdminOperation>> {
  const route = findDirectAdminRoute(op, args, homeseer.config.scriptPage)
  const step = (status: string, transport = 'none'): JsonObject => ({
    name: 'execute',
    status,
    route: 'direct',
    transport,
  })
  if (route === undefined)
    return fail({
      fault: unsupported(op, 'HomeSeer has no request for it'),
      steps: [step('unsupported')],
      onlyTheseArguments: findDirectAdminRoute(op, {}, homeseer.config.scriptPage) !== undefined,
    })
  const { transport, exchange, scriptId } = route
  // Checked here, because in mode direct or auto the guard did not know that this script would run.
  if (scriptId !== undefined && homeseer.rules.scripts?.(scriptId) === false)
    return fail({
      fault: unsupported(op, `the owner's list does not hold ${scriptId}`),
      steps: [step('unsupported', transport)],
    })
  const done = await homeseer.link.json.call(exchange, signal)
  if (done.ok)
    return ok({
      route: 'direct',
      transport,
      before: undefined,
      after: undefined,
      raw: done.value,
      steps: [step('ok', transport)],
    })
  if (isUnsupported(done.fault))
    return fail({
      fault: unsupported(op, 'HomeSeer does not know the request'),
      steps: [step('unsupported', transport)],
    })
  return fail({ fault: createHomeseerWriteFault(done.fault, op), steps: [step('failed', transport)] })
}

async function byAdapter(
  homeseer: HomeseerToolContext,
  { op, args, signal }: AdminOperationRequest,
  steps: readonly JsonObject[],
): Promise<Result<ExecutedAdminOperation, FailedAdminOperation>> {
  const fallbackFrom = steps.length > 0 ? { fallbackFrom: 'direct' } : {}
  const step = (status: string): readonly JsonObject[] => [
    ...steps,
    { name: 'execute', status, route: 'adapter', transport: TRANSPORT, ...fallbackFrom },
  ]
  if (homeseer.rules.scripts?.(ADMIN_ADAPTER_SCRIPT_FILE_NAME) === false)
    return fail({
      fault: unsupported(op, `the owner's list of scripts does not hold ${ADMIN_ADAPTER_SCRIPT_FILE_NAME}`),
      steps: step('unsupported'),
    })
  const answer = await sendOnce(homeseer, { op, args, signal })
  if (!answer.ok) {
    // HomeSeer without the adapter's script gives an answer that is not the adapter's, or has no such page.
    const missing =
      answer.fault.kind === 'refused' || (answer.fault.kind === 'http-status' && answer.fault.status === 404)
    const fault = missing
      ? unsupported(op, 'no admin adapter is installed on this HomeSeer')
      : createHomeseerWriteFault(answer.fault, op)
    return fail({ fault, steps: step(missing ? 'unsupported' : 'failed') })
  }
  const reply = answer.value
  if (!reply.ok) return fail({ fault: adapterFault(op, reply), steps: step('failed') })
  const { before, after } = reply.data
  return ok({
    route: 'adapter',
    transport: TRANSPORT,
    before: isJsonObject(before) ? before : undefined,
    after: isJsonObject(after) ? after : undefined,
    raw: reply.data,
    steps: step('ok'),
  })
}

/** Sends a request that only reads to the adapter, if there is one. */
export async function readFromAdminAdapter(
  homeseer: HomeseerToolContext,
  op: string,
  signal: AbortSignal,
): Promise<Result<JsonObject, Fault>> {
  const answer = await homeseer.link.json.call(
    createAdminAdapterHttpRequest(
      { id: newUlid(), op, args: {}, atMs: homeseer.clock.now() },
      adapterOptions(homeseer),
    ),
    signal,
  )
  if (!answer.ok)
    return fail(
      answer.fault.kind === 'refused'
        ? unsupported(op, 'no admin adapter is installed on this HomeSeer')
        : createHomeseerReadFault(answer.fault, op),
    )
  return answer.value.ok ? ok(answer.value.data) : fail(adapterFault(op, answer.value))
}

/** The adapter carries out an id once and repeats its first answer, so a lost answer may be requested again. */
async function sendOnce(
  homeseer: HomeseerToolContext,
  { op, args, signal }: Pick<AdminOperationRequest, 'op' | 'args' | 'signal'>,
): Promise<Result<AdminAdapterReply, HomeseerLinkFault>> {
  const exchange = createAdminAdapterHttpRequest(
    { id: newUlid(), op, args, atMs: homeseer.clock.now() },
    adapterOptions(homeseer),
  )
  const first = await homeseer.link.json.call(exchange, signal)
  if (first.ok || !mayHomeseerHaveActed(first.fault) || signal.aborted) return first
  const second = await homeseer.link.json.call(exchange, signal)
  // The second attempt showed nothing new, so the outcome of the first is still unknown.
  return second.ok || second.fault.kind === 'refused' ? second : first
}

function adapterOptions({ config }: HomeseerToolContext): AdminAdapterOptions {
  return { page: config.scriptPage, key: config.admin.adapterKey }
}

/** `other` is a refusal for another reason, such as a missing right; another route would only hide it. */
function isUnsupported(fault: HomeseerLinkFault): boolean {
  if (fault.kind === 'http-status') return fault.status === 404
  return fault.kind === 'refused' && fault.reason !== 'other'
}

function unsupported(op: string, why: string): Fault {
  return createHs4Fault('UNSUPPORTED_ON_TARGET', `${op} was not carried out: ${why}.`, {
    fixHint: 'Install the admin adapter (docs/protocols/homeseer.md § 4), or do it at HomeSeer itself.',
    next: [{ name: 'hs4.health.get' }],
  })
}

/** Codes of the adapter's own protocol (docs/protocols/homeseer.md § 4). */
function adapterFault(op: string, reply: AdminAdapterReply & { readonly ok: false }): Fault {
  const message = `${op}: ${reply.message}`
  switch (reply.code) {
    case 'unknown-operation':
      return unsupported(op, 'the installed adapter does not know it')
    case 'invalid':
      return createHs4Fault('BAD_REQUEST', message)
    case 'not-found':
      return createHs4Fault('NOT_FOUND', message)
    case 'conflict':
      return { kind: 'conflict', code: 'BAD_REQUEST', message }
    default:
      return createHs4Fault('HS4_ERROR', message)
  }
}
