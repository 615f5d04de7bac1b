/**
 * Admin adapter: the contract of the script that performs what HomeSeer's JSON interface has no request for.
 *
 *   POST /runscript.html   hs.RunScriptFunc("hearthbus_admin.cs","Handle","hb1.<request>",true,false)
 *   ["response","hb1.<reply>"]
 *
 *   request  {"v":1,"id":"…","op":"users.create","args":{…},"at":ms}  both base64url, so that no text of a caller can
 *   reply    {"v":1,"id":"…","ok":true,"data":{…}}                    end the string it travels in
 *            {"v":1,"id":"…","ok":false,"code":"not-found","message":"…"}
 *
 * A reply is valid only with the mark, the version and the id of its request. Anything else means that no adapter is
 * installed. The adapter performs an id once: a repeated id gets the first reply again. With a key, `.` and the
 * HMAC-SHA-256 of the packed request follow it; the adapter refuses what bears no signature of its gateway, or an old
 * one. docs/protocols/homeseer.md lists the operations.
 */
import { createHmac } from 'node:crypto'
import { toBase64url, fromBase64url, fromUtf8, toUtf8 } from '../../core/bytes.ts'
import { omitUndefined, isJsonObject, parseJsonReplacingLoneSurrogates, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { sanitizeLine } from '../../core/untrusted-text.ts'
import type { HomeseerRequestDefinition, HomeseerReplyBody, HomeseerReplyFault } from './http-exchange.ts'
import { readRecordBoolean, readRecordNumber, readRecordObject, readRecordText } from './record-field.ts'
import { decodeScriptReply, createScriptRunRequest, SCRIPT_PAGE_PATH } from './script-and-backup-pages.ts'

export interface AdminAdapterRequest {
  /** Chosen by the caller, once per change; see the header. */
  readonly id: string
  readonly op: string
  readonly args: JsonObject
  /** When the request was made: a signed request that is minutes old is a replay. */
  readonly atMs?: number
}

export interface AdminAdapterOptions {
  readonly page?: string | undefined
  readonly key?: string | undefined
}

const ADAPTER_CODES = ['unknown-operation', 'invalid', 'not-found', 'conflict', 'failed'] as const
export type AdminAdapterErrorCode = (typeof ADAPTER_CODES)[number]

export type AdminAdapterReply =
  | { readonly id: string; readonly ok: true; readonly data: JsonObject }
  | { readonly id: string; readonly ok: false; readonly code: AdminAdapterErrorCode; readonly message: string }

/** Operations that change nothing and may be repeated. */
export const ADMIN_ADAPTER_READ_OPERATIONS = [
  'adapter.describe',
  'adapter.outcome',
  'users.list',
  'plugins.list',
  'interfaces.list',
  'interfaces.diagnostics',
  'cameras.list',
  'events.get',
  'events.export',
  'system.config.get',
  'system.backup.list',
  'config.categories.list',
] as const

/** Operations named as the tools `hs4.admin.*` that need them. Each answers `{before, after}` of what it changed. */
export const ADMIN_ADAPTER_WRITE_OPERATIONS = [
  'users.create',
  'users.update',
  'users.delete',
  'users.set_role',
  'plugins.install',
  'plugins.update',
  'plugins.remove',
  'plugins.set_enabled',
  'plugins.restart',
  'interfaces.add',
  'interfaces.update',
  'interfaces.remove',
  'interfaces.restart',
  'system.backup.start',
  'system.restore.start',
  'system.service.restart',
  'system.shutdown',
  'system.config.set',
  'cameras.config.create',
  'cameras.config.update',
  'cameras.config.delete',
  'cameras.stream_profile.set',
  'cameras.recording.set',
  'events.create',
  'events.update',
  'events.delete',
  'config.device_metadata.set',
  'config.category.upsert',
  'config.category.delete',
] as const

/** The file name for the owner's list of scripts. */
export const ADMIN_ADAPTER_SCRIPT_FILE_NAME = 'hearthbus_admin.cs'
const MARK = 'hb1.'
const VERSION = 1
const COMMAND = new RegExp(
  `^\\s*&?hs\\.RunScriptFunc\\("${ADMIN_ADAPTER_SCRIPT_FILE_NAME.replace('.', '\\.')}","Handle","(${MARK.replace('.', '\\.')}[\\w-]+)(?:\\.([0-9a-f]{64}))?",true,false\\)\\s*$`,
)

export function createAdminAdapterHttpRequest(
  request: AdminAdapterRequest,
  { page = SCRIPT_PAGE_PATH, key }: AdminAdapterOptions = {},
): HomeseerRequestDefinition<AdminAdapterReply> {
  const reads = (ADMIN_ADAPTER_READ_OPERATIONS as readonly string[]).includes(request.op)
  return {
    ...createScriptRunRequest(encodeAdminAdapterCommand(request, key), page),
    name: `adapter ${request.op}`,
    effect: reads ? 'reads' : 'writes',
    decode: (reply) => decodeAdapterReply(reply, request.id),
  }
}

export function encodeAdminAdapterCommand({ id, op, args, atMs }: AdminAdapterRequest, key?: string): string {
  const packed = pack({ id, op, args, ...omitUndefined({ at: atMs }) })
  const signed = key === undefined ? packed : `${packed}.${signature(packed, key)}`
  return `hs.RunScriptFunc("${ADMIN_ADAPTER_SCRIPT_FILE_NAME}","Handle","${signed}",true,false)`
}

function signature(packed: string, key: string): string {
  return createHmac('sha256', key).update(packed).digest('hex')
}

/** Returns `undefined` for a command that is not the adapter's; an invalid request inside of it is a fault. */
export function decodeAdminAdapterCommand(
  command: string,
  key?: string,
): Result<AdminAdapterRequest, 'broken'> | undefined {
  const [, packed, signed] = COMMAND.exec(command) ?? []
  if (packed === undefined) return undefined
  if (key !== undefined && signed !== signature(packed, key)) return fail('broken')
  const request = unpack(packed)
  const id = readRecordText(request ?? {}, 'id')
  const op = readRecordText(request ?? {}, 'op')
  if (request === undefined || id === undefined || op === undefined) return fail('broken')
  return ok({ id, op, args: readRecordObject(request, 'args') ?? {} })
}

export function encodeAdminAdapterReply(reply: AdminAdapterReply): string {
  return pack({ ...reply })
}

function decodeAdapterReply(reply: HomeseerReplyBody, id: string): Result<AdminAdapterReply, HomeseerReplyFault> {
  const script = decodeScriptReply(reply)
  if (!script.ok) return script
  const packed = script.value.responseArray.find((item) => typeof item === 'string' && item.startsWith(MARK))
  const answer = typeof packed === 'string' ? unpack(packed) : undefined
  const good = answer === undefined ? undefined : readRecordBoolean(answer, 'ok')
  if (answer === undefined || good === undefined || readRecordText(answer, 'id') !== id)
    return fail({ kind: 'refused', reason: 'unsupported', text: 'no admin adapter answered' })
  if (good) return ok({ id, ok: true, data: readRecordObject(answer, 'data') ?? {} })
  const code = ADAPTER_CODES.find((known) => known === readRecordText(answer, 'code')) ?? 'failed'
  return ok({ id, ok: false, code, message: sanitizeLine(readRecordText(answer, 'message') ?? '', 500) })
}

function pack(members: JsonObject): string {
  return `${MARK}${toBase64url(toUtf8(JSON.stringify({ v: VERSION, ...members })))}`
}

function unpack(packed: string): JsonObject | undefined {
  const bytes = fromBase64url(packed.slice(MARK.length))
  const value = parseJsonReplacingLoneSurrogates(bytes && fromUtf8(bytes))
  return isJsonObject(value) && readRecordNumber(value, 'v') === VERSION ? value : undefined
}
