/**
 * Script page: `runscript.html` and `backup.html` of the simulated HomeSeer, with the admin adapter behind the first.
 */
import {
  ADMIN_ADAPTER_READ_OPERATIONS,
  ADMIN_ADAPTER_WRITE_OPERATIONS,
  decodeAdminAdapterCommand,
  encodeAdminAdapterReply,
  type AdminAdapterReply,
  type AdminAdapterRequest,
} from '../../homeseer/wire/admin-adapter.ts'
import { readRecordText } from '../../homeseer/wire/record-field.ts'
import { SIMULATED_CAMERA_EVENT_CONFIG_OPERATIONS } from './admin-camera-event-config.ts'
import { SIMULATED_PLUGIN_AND_SYSTEM_OPERATIONS } from './admin-plugin-and-system.ts'
import type { SimulatedAdminOperations } from './admin-result.ts'
import { SIMULATED_USER_OPERATIONS } from './admin-user.ts'
import {
  createSimulatedJsonAnswer,
  createPageAnswer,
  createOkOrErrorAnswer,
  type SimulatedHttpAnswer,
} from './http-answer.ts'
import { hasSimulatedAdminRight } from './login.ts'
import type { SimulatedApiRequest } from './read-api.ts'
import { recordSimulatedChangeAttempt } from './simulated-system.ts'
import { findOwnProperty } from './own-property.ts'
import type { SimulatedWorld } from './simulated-world.ts'

/** How many answers are kept for a client that lost one and asks again. */
const MAX_PERFORMED = 200
const OPERATIONS: SimulatedAdminOperations = {
  ...SIMULATED_USER_OPERATIONS,
  ...SIMULATED_PLUGIN_AND_SYSTEM_OPERATIONS,
  ...SIMULATED_CAMERA_EVENT_CONFIG_OPERATIONS,
}

export function answerScriptPage(
  world: SimulatedWorld,
  { parameters, user, nowMs }: SimulatedApiRequest,
): SimulatedHttpAnswer {
  const command = parameters.get('scriptcommand')
  if (parameters.get('action')?.toLowerCase() !== 'run_script_command' || command === undefined)
    return createPageAnswer(200, 'Run script')
  // Status 200 in any case, because the page has no other.
  if (!hasSimulatedAdminRight(user)) return createSimulatedJsonAnswer(['response', 'Error: not authorized'])
  const request = world.faults.adapterMissing ? undefined : decodeAdminAdapterCommand(command, world.system.adapterKey)
  if (request === undefined) return createSimulatedJsonAnswer(['response', runPlainScript(world, command)])
  if (!request.ok) return createSimulatedJsonAnswer(['response', 'Error: the request cannot be read'])
  return createSimulatedJsonAnswer(['response', encodeAdminAdapterReply(performOnce(world, request.value, nowMs))])
}

export function answerBackupPage(
  { system }: SimulatedWorld,
  { parameters, user, nowMs }: SimulatedApiRequest,
): SimulatedHttpAnswer {
  const done = parameters.get('action')?.toLowerCase() === 'backup' && hasSimulatedAdminRight(user)
  if (done)
    system.backups = [...system.backups, { id: `backup-${system.backups.length + 1}`, label: '', madeMs: nowMs }]
  return createOkOrErrorAnswer(recordSimulatedChangeAttempt(system, { kind: 'backup', done }) ? 'ok' : 'error')
}

/** Statements that HomeSeer knows, and scripts by their file names; the error texts are ours. */
function runPlainScript({ system }: SimulatedWorld, command: string): string {
  const [, method] = /^\s*&?hs\.(\w+)\(/.exec(command) ?? []
  const file = /^\s*"?([\w.-]+\.(?:vb|cs|vbs))"?/.exec(command)?.[1]
  const done =
    method === 'Shutdown' || method === 'RestartService' || method === 'WriteLog' || system.scripts.has(file ?? '')
  recordSimulatedChangeAttempt(system, { kind: 'script', command, done })
  if (method === 'Shutdown') system.running = 'shut down'
  if (method === 'RestartService') system.running = 'restarting'
  return done ? 'ok' : 'Error: script or function not found'
}

function performOnce(world: SimulatedWorld, request: AdminAdapterRequest, nowMs: number): AdminAdapterReply {
  const before = world.performed.get(request.id)
  if (before !== undefined) return before
  const reply = perform(world, request, nowMs)
  // Reads are never answered from memory, because an old list would be wrong.
  if (!(ADMIN_ADAPTER_WRITE_OPERATIONS as readonly string[]).includes(request.op)) return reply
  recordSimulatedChangeAttempt(world.system, { kind: 'admin', op: request.op, done: reply.ok })
  const [oldest] = world.performed.keys()
  if (world.performed.size >= MAX_PERFORMED && oldest !== undefined) world.performed.delete(oldest)
  world.performed.set(request.id, reply)
  return reply
}

function perform(world: SimulatedWorld, { id, op, args }: AdminAdapterRequest, nowMs: number): AdminAdapterReply {
  if (op === 'adapter.describe') {
    const data = {
      name: 'hearthbus-admin',
      version: '1.1.0',
      operations: [...ADMIN_ADAPTER_READ_OPERATIONS, ...ADMIN_ADAPTER_WRITE_OPERATIONS],
    }
    return { id, ok: true, data }
  }
  if (op === 'adapter.outcome') {
    const known = world.performed.get(readRecordText(args, 'id') ?? '')
    return { id, ok: true, data: { known: known !== undefined, performed: known?.ok ?? false } }
  }
  const operation = findOwnProperty(OPERATIONS, op)
  if (operation === undefined)
    return { id, ok: false, code: 'unknown-operation', message: `no operation ${op.slice(0, 80)}` }
  const result = operation(world, args, nowMs)
  return result.ok ? { id, ok: true, data: result.value } : { id, ok: false, ...result.fault }
}
