/**
 * JSON requests: requests that read, requests that change the house, and requests that only change HomeSeer's memory.
 */
import type { Json } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import {
  decodeCameras,
  decodeCameraSnapshot,
  type ReceivedCamera,
  type CameraSnapshot,
  type CameraPanCommand,
} from './camera.ts'
import {
  decodeControlsReply,
  type ControlPair,
  decodeStatusReply,
  type StatusReply,
  type ReceivedDevice,
} from './device.ts'
import { decodeEvents, type ReceivedEventRecord } from './event.ts'
import {
  createJsonHttpRequest,
  type HomeseerRequestDefinition,
  type HttpParameters,
  decodeJsonReply,
  createMalformedReplyFault,
  type MalformedReplyFault,
  type HomeseerReplyBody,
  type HomeseerReplyFault,
  createGenericHomeseerRequest,
  decodeAcknowledgement,
} from './http-exchange.ts'
import { decodePlugins, type ReceivedPlugin } from './plugin.ts'

// Read requests change nothing in the house.

export interface StatusQuery {
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

export function createStatusRequest(question: StatusQuery = {}): HomeseerRequestDefinition<StatusReply> {
  return reading('getstatus', decodeStatusReply, {
    ref: listOrAll(question.refs),
    location1: question.location1,
    location2: question.location2,
    compress: question.compress,
    everything: question.everything,
    voiceonly: question.voiceOnly,
    excludeevents: question.excludeEvents,
  })
}

/** Control pairs by ref; for a list of one HomeSeer sends the short form of reply, otherwise the long one. */
export function createControlsRequest(
  refs?: readonly number[],
): HomeseerRequestDefinition<ReadonlyMap<number, readonly ControlPair[]>> {
  return reading('getcontrol', decodeControlsReply, { ref: listOrAll(refs) })
}

export function createVersionRequest(): HomeseerRequestDefinition<string> {
  return { name: 'hsversion', effect: 'reads', http: createJsonHttpRequest('hsversion'), decode: decodeVersion }
}

export function createEventsRequest(): HomeseerRequestDefinition<readonly ReceivedEventRecord[]> {
  return reading('getevents', decodeEvents)
}

export function createCamerasRequest(): HomeseerRequestDefinition<readonly ReceivedCamera[]> {
  return reading('getcameras', decodeCameras)
}

export function createCameraSnapshotRequest(camId: number): HomeseerRequestDefinition<CameraSnapshot> {
  const http = createJsonHttpRequest('getcamerasnapshot', { camid: camId })
  return { name: 'getcamerasnapshot', effect: 'reads', http, decode: decodeCameraSnapshot }
}

export function createPluginsRequest(): HomeseerRequestDefinition<readonly ReceivedPlugin[]> {
  return reading('pluginlist', decodePlugins)
}

function reading<Value>(
  request: string,
  decode: (value: Json) => Result<Value, MalformedReplyFault>,
  parameters: HttpParameters = {},
): HomeseerRequestDefinition<Value> {
  return {
    name: request,
    effect: 'reads',
    http: createJsonHttpRequest(request, parameters),
    decode: (reply) => {
      const json = decodeJsonReply(reply)
      return json.ok ? decode(json.value) : json
    },
  }
}

/** HomeSeer would take an empty list for all, so a request for nothing is a bug of ours. */
function listOrAll(refs: readonly number[] | undefined): readonly number[] | undefined {
  if (refs?.length === 0) throw new RangeError('no refs to ask for')
  return refs
}

function decodeVersion(reply: HomeseerReplyBody): Result<string, HomeseerReplyFault> {
  if (reply.kind === 'response') return ok(reply.text.trim())
  return fail(createMalformedReplyFault(reply, 'a version'))
}

// Write requests: requests that change the house, and requests that only change HomeSeer's memory.
//
//   controldevice…      tells the hardware; the reply may still show the old state
//   setdevicestatus     rewrites what HomeSeer remembers and moves nothing
//   setdevicevaluebyref the same
//
// The names keep the two apart, because a remembered value read back after a remembered value was written proves
// nothing.

/** HomeSeer accepted the command. `shown` is what it displayed at that moment, which does not prove the outcome. */
export interface ControlRequestReply {
  readonly shown: ReceivedDevice | undefined
}

export function createControlByValueRequest(
  ref: number,
  value: number,
): HomeseerRequestDefinition<ControlRequestReply> {
  return controlling('controldevicebyvalue', { ref, value })
}

/** Controls by the position of the pair, which is the only way to send a text to a text box or colour picker. */
export function createControlByIndexRequest(
  ref: number,
  index: number,
  text?: string,
): HomeseerRequestDefinition<ControlRequestReply> {
  return controlling('controldevicebyindex', { ref, value: index, string: text })
}

export interface StoredStatusChange {
  readonly ref: number
  readonly value?: number | undefined
  readonly text?: string | undefined
  /** Written to HomeSeer's log. */
  readonly source?: string | undefined
}

/** Rewrites the remembered value or text. Moves no hardware. */
export function createStoredStatusWriteRequest(status: StoredStatusChange): HomeseerRequestDefinition<void> {
  const { ref, value, text, source } = status
  return acknowledged('setdevicestatus', { ref, value, string: text, source })
}

export function createDevicePropertyWriteRequest(
  ref: number,
  property: string,
  value: string,
): HomeseerRequestDefinition<void> {
  return acknowledged('setdeviceproperty', { ref, property, value })
}

export function createEventRunByIdRequest(id: number): HomeseerRequestDefinition<void> {
  return acknowledged('runevent', { id })
}

/** For HomeSeers whose events have no id. */
export function createEventRunByNameRequest(group: string, name: string): HomeseerRequestDefinition<void> {
  return acknowledged('runevent', { group, name })
}

export function createCameraPanRequest(camId: number, direction: CameraPanCommand): HomeseerRequestDefinition<void> {
  return acknowledged('pancamera', { camid: camId, direction })
}

export function createSpeakRequest(phrase: string, host?: string): HomeseerRequestDefinition<void> {
  return acknowledged('speak', { phrase, host })
}

export interface PluginFunctionCall {
  readonly plugin: string
  readonly functionName: string
  readonly instance?: string | undefined
  readonly parameters: readonly (string | number | boolean)[]
}

/** Returns whatever the plug-in returns. */
export function createPluginFunctionRequest(call: PluginFunctionCall): HomeseerRequestDefinition<Json> {
  const numbered = Object.fromEntries(call.parameters.map((value, index) => [`P${index + 1}`, value]))
  const { plugin, functionName, instance } = call
  return createGenericHomeseerRequest(
    'pluginfunction',
    { plugin, function: functionName, instance, ...numbered },
    'writes',
  )
}

function controlling(name: string, parameters: HttpParameters): HomeseerRequestDefinition<ControlRequestReply> {
  return { name, effect: 'writes', http: createJsonHttpRequest(name, parameters), decode: decodeControl }
}

function acknowledged(name: string, parameters: HttpParameters): HomeseerRequestDefinition<void> {
  return { name, effect: 'writes', http: createJsonHttpRequest(name, parameters), decode: decodeAcknowledgement }
}

/** A status reply or an acknowledgement; both mean that the command was accepted. */
function decodeControl(reply: HomeseerReplyBody): Result<ControlRequestReply, HomeseerReplyFault> {
  if (reply.kind !== 'json') {
    const taken = decodeAcknowledgement(reply)
    return taken.ok ? ok({ shown: undefined }) : taken
  }
  const status = decodeStatusReply(reply.value)
  if (!status.ok) return status
  // HomeSeer answers an unknown ref with an empty list: no device accepted the command.
  const shown = status.value.devices[0]
  return shown === undefined ? fail({ kind: 'refused', reason: 'error', text: 'no such device' }) : ok({ shown })
}
