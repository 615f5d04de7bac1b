/**
 * Read requests: the questions that change nothing in the house.
 *
 * Pure.
 */
import { isJsonObject, type Json } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { decodeCameras, decodeSnapshot, type ReceivedCamera, type Snapshot } from './camera.ts'
import { decodeControls, type ControlPair } from './control-pair.ts'
import { decodeStatus, type StatusReply } from './device.ts'
import { decodeEvents, type ReceivedEvent } from './event.ts'
import { jsonForm, type Exchange, type ParameterValue } from './exchange.ts'
import { numberField, objectField, textField, textsField } from './field.ts'
import { decodePlugins, type ReceivedPlugin } from './plugin.ts'
import { decodeJson, unexpected, type Malformed, type Reply, type ReplyFault } from './reply.ts'

export interface StatusQuestion {
  readonly refs?: readonly number[] | undefined
  /** Ignored by HomeSeer together with `everything`. */
  readonly location1?: string | undefined
  readonly location2?: string | undefined
  /** Leaves out members that are not set. */
  readonly compress?: boolean | undefined
  /** Adds control pairs, and events unless these are excluded. */
  readonly everything?: boolean | undefined
  readonly voiceOnly?: boolean | undefined
  readonly excludeEvents?: boolean | undefined
}

export function getStatus(question: StatusQuestion = {}): Exchange<StatusReply> {
  return reading('getstatus', decodeStatus, {
    ref: listOrAll(question.refs),
    location1: question.location1,
    location2: question.location2,
    compress: question.compress,
    everything: question.everything,
    voiceonly: question.voiceOnly,
    excludeevents: question.excludeEvents,
  })
}

/** Control pairs by ref; a list of one gets the short shape of reply, anything else the long one. */
export function getControl(refs?: readonly number[]): Exchange<ReadonlyMap<number, readonly ControlPair[]>> {
  return reading('getcontrol', decodeControls, { ref: listOrAll(refs) })
}

export function getVersion(): Exchange<string> {
  return { name: 'hsversion', effect: 'reads', http: jsonForm('hsversion'), decode: decodeVersion }
}

export function getEvents(): Exchange<readonly ReceivedEvent[]> {
  return reading('getevents', decodeEvents)
}

export function getCameras(): Exchange<readonly ReceivedCamera[]> {
  return reading('getcameras', decodeCameras)
}

export function getCameraSnapshot(camId: number): Exchange<Snapshot> {
  const http = jsonForm('getcamerasnapshot', { camid: camId })
  return { name: 'getcamerasnapshot', effect: 'reads', http, decode: decodeSnapshot }
}

export function getPlugins(): Exchange<readonly ReceivedPlugin[]> {
  return reading('pluginlist', decodePlugins)
}

export interface Locations {
  readonly location1: readonly string[]
  readonly location2: readonly string[]
}

export function getLocations(): Exchange<Locations> {
  return reading('getlocations', decodeLocations)
}

export interface SessionConfig {
  readonly version: string
  readonly user: string
  /** Bit mask: guest 1, admin 2, local 4, normal 8. */
  readonly permissions: number | undefined
}

export function getSessionConfig(): Exchange<SessionConfig> {
  return reading('getsessionconfig', decodeSessionConfig)
}

function reading<Value>(
  request: string,
  decode: (value: Json) => Result<Value, Malformed>,
  parameters: Readonly<Record<string, ParameterValue>> = {},
): Exchange<Value> {
  return {
    name: request,
    effect: 'reads',
    http: jsonForm(request, parameters),
    decode: (reply) => {
      const json = decodeJson(reply)
      return json.ok ? decode(json.value) : json
    },
  }
}

/** An empty list would read as all on the far side, so asking for nothing is our mistake. */
function listOrAll(refs: readonly number[] | undefined): readonly number[] | undefined {
  if (refs?.length === 0) throw new RangeError('no refs to ask for')
  return refs
}

function decodeVersion(reply: Reply): Result<string, ReplyFault> {
  if (reply.kind === 'response') return ok(reply.text.trim())
  return fail(unexpected(reply, 'a version'))
}

function decodeLocations(value: Json): Result<Locations, Malformed> {
  if (!isJsonObject(value)) return fail({ kind: 'malformed', detail: 'locations are not an object' })
  // The first element can be a choice of HomeSeer's own page, not a place.
  const places = (name: string) => textsField(value, name).filter((place) => place !== 'All')
  return ok({ location1: places('location1'), location2: places('location2') })
}

function decodeSessionConfig(value: Json): Result<SessionConfig, Malformed> {
  if (!isJsonObject(value)) return fail({ kind: 'malformed', detail: 'a session is not an object' })
  return ok({
    version: textField(value, 'hsVersion') ?? '',
    user: textField(value, 'username') ?? '',
    permissions: numberField(objectField(value, 'userPermissions') ?? {}, 'user_permissions'),
  })
}
