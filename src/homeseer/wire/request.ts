/**
 * Request: the questions that change nothing in the house, what changes it, and what only looks as if it did.
 */
import { isJsonObject, type Json } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { decodeCameras, decodeSnapshot, type ReceivedCamera, type CameraSnapshot } from './camera.ts'
import { decodeControls, type ControlPair, decodeStatus, type StatusReply, type ReceivedDevice } from './device.ts'
import { decodeEvents, type ReceivedEvent } from './event.ts'
import {
  createJsonForm,
  type HttpExchange,
  type ParameterValue,
  decodeJson,
  unexpectedReply,
  type MalformedReply,
  type HomeseerReply,
  type ReplyFault,
  createActionForm,
  createGenericRequest,
  type HttpForm,
  decodeAcknowledgement,
} from './exchange.ts'
import { readRecordNumber, readRecordObject, readRecordText, readRecordTexts } from './field.ts'
import { decodePlugins, type ReceivedPlugin } from './plugin.ts'
import type { PanDirection } from './camera.ts'
import { encodeControlUse, type ControlUse } from './control-use.ts'

// Read requests: the questions that change nothing in the house.

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

export function getStatus(question: StatusQuestion = {}): HttpExchange<StatusReply> {
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
export function getControl(refs?: readonly number[]): HttpExchange<ReadonlyMap<number, readonly ControlPair[]>> {
  return reading('getcontrol', decodeControls, { ref: listOrAll(refs) })
}

export function getVersion(): HttpExchange<string> {
  return { name: 'hsversion', effect: 'reads', http: createJsonForm('hsversion'), decode: decodeVersion }
}

export function getEvents(): HttpExchange<readonly ReceivedEvent[]> {
  return reading('getevents', decodeEvents)
}

export function getCameras(): HttpExchange<readonly ReceivedCamera[]> {
  return reading('getcameras', decodeCameras)
}

export function getCameraSnapshot(camId: number): HttpExchange<CameraSnapshot> {
  const http = createJsonForm('getcamerasnapshot', { camid: camId })
  return { name: 'getcamerasnapshot', effect: 'reads', http, decode: decodeSnapshot }
}

export function getPlugins(): HttpExchange<readonly ReceivedPlugin[]> {
  return reading('pluginlist', decodePlugins)
}

export interface Locations {
  readonly location1: readonly string[]
  readonly location2: readonly string[]
}

export function getLocations(): HttpExchange<Locations> {
  return reading('getlocations', decodeLocations)
}

export interface SessionConfig {
  readonly version: string
  readonly user: string
  /** Bit mask: guest 1, admin 2, local 4, normal 8. */
  readonly permissions: number | undefined
}

export function getSessionConfig(): HttpExchange<SessionConfig> {
  return reading('getsessionconfig', decodeSessionConfig)
}

function reading<Value>(
  request: string,
  decode: (value: Json) => Result<Value, MalformedReply>,
  parameters: Readonly<Record<string, ParameterValue>> = {},
): HttpExchange<Value> {
  return {
    name: request,
    effect: 'reads',
    http: createJsonForm(request, parameters),
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

function decodeVersion(reply: HomeseerReply): Result<string, ReplyFault> {
  if (reply.kind === 'response') return ok(reply.text.trim())
  return fail(unexpectedReply(reply, 'a version'))
}

function decodeLocations(value: Json): Result<Locations, MalformedReply> {
  if (!isJsonObject(value)) return fail({ kind: 'malformed', detail: 'locations are not an object' })
  // The first element can be a choice of HomeSeer's own page, not a place.
  const places = (name: string) => readRecordTexts(value, name).filter((place) => place !== 'All')
  return ok({ location1: places('location1'), location2: places('location2') })
}

function decodeSessionConfig(value: Json): Result<SessionConfig, MalformedReply> {
  if (!isJsonObject(value)) return fail({ kind: 'malformed', detail: 'a session is not an object' })
  return ok({
    version: readRecordText(value, 'hsVersion') ?? '',
    user: readRecordText(value, 'username') ?? '',
    permissions: readRecordNumber(readRecordObject(value, 'userPermissions') ?? {}, 'user_permissions'),
  })
}

// Write requests: what changes the house, and what only looks as if it did.
//
//   controldevice…      tells the hardware; the reply may still show the old state
//   setdevicestatus     rewrites what HomeSeer remembers and moves nothing
//   setdevicevaluebyref the same
//
// The names keep the two apart, because a remembered value read back after a remembered value was written proves
// nothing.

/** HomeSeer took the command. `shown` is what it displayed at that moment, which is not yet evidence of the outcome. */
export interface ControlReply {
  readonly shown: ReceivedDevice | undefined
}

export interface ControlRequestOptions {
  /** `post` keeps the values out of access logs; `get` is the documented default. */
  readonly via: 'get' | 'post'
}

export function controlByValue(ref: number, value: number, form?: ControlRequestOptions): HttpExchange<ControlReply> {
  return controlling(
    'controldevicebyvalue',
    pick(form, {
      get: createJsonForm('controldevicebyvalue', { ref, value }),
      post: createActionForm('controlbyvalue', { deviceref: ref, value }),
    }),
  )
}

export function controlByLabel(ref: number, label: string, form?: ControlRequestOptions): HttpExchange<ControlReply> {
  return controlling(
    'controldevicebylabel',
    pick(form, {
      get: createJsonForm('controldevicebylabel', { ref, label }),
      post: createActionForm('controlbylabel', { deviceref: ref, label }),
    }),
  )
}

/** By position of the pair; the only way to hand a text box or colour picker its text. */
export function controlByIndex(ref: number, index: number, text?: string): HttpExchange<ControlReply> {
  return controlling(
    'controldevicebyindex',
    createJsonForm('controldevicebyindex', { ref, value: index, string: text }),
  )
}

/** `rootRefs` are roots: HomeSeer looks through their features for a pair of that use. */
export function controlByUse(
  rootRefs: readonly number[],
  use: ControlUse,
  given: { readonly value?: number; readonly text?: string } = {},
): HttpExchange<ControlReply> {
  const controluse = encodeControlUse(use)
  const parameters = { ref: rootRefs, controluse, value: given.value, string: given.text }
  return controlling('controldevicebycontroluse', createJsonForm('controldevicebycontroluse', parameters))
}

export interface StoredStatus {
  readonly ref: number
  readonly value?: number | undefined
  readonly text?: string | undefined
  /** Goes to HomeSeer's log. */
  readonly source?: string | undefined
}

/** Rewrites the remembered value or text. Moves no hardware. */
export function setStoredStatus(status: StoredStatus): HttpExchange<void> {
  const { ref, value, text, source } = status
  return acknowledged('setdevicestatus', createJsonForm('setdevicestatus', { ref, value, string: text, source }))
}

export function setDeviceProperty(ref: number, property: string, value: string): HttpExchange<void> {
  return acknowledged('setdeviceproperty', createJsonForm('setdeviceproperty', { ref, property, value }))
}

export function runEventById(id: number): HttpExchange<void> {
  return acknowledged('runevent', createJsonForm('runevent', { id }))
}

/** For HomeSeers that give events no id. */
export function runEventByName(group: string, name: string, form?: ControlRequestOptions): HttpExchange<void> {
  return acknowledged(
    'runevent',
    pick(form, {
      get: createJsonForm('runevent', { group, name }),
      post: createActionForm('runevent', { group, name }),
    }),
  )
}

export function panCamera(camId: number, direction: PanDirection): HttpExchange<void> {
  return acknowledged('pancamera', createJsonForm('pancamera', { camid: camId, direction }))
}

export function speakPhrase(phrase: string, host?: string): HttpExchange<void> {
  return acknowledged('speak', createJsonForm('speak', { phrase, host }))
}

export interface PluginCall {
  readonly plugin: string
  readonly functionName: string
  readonly instance?: string | undefined
  readonly parameters: readonly (string | number | boolean)[]
}

/** Answers whatever the plug-in returns. */
export function callPlugin(call: PluginCall): HttpExchange<Json> {
  const numbered = Object.fromEntries(call.parameters.map((value, index) => [`P${index + 1}`, value]))
  const { plugin, functionName, instance } = call
  return createGenericRequest('pluginfunction', { plugin, function: functionName, instance, ...numbered }, 'writes')
}

function controlling(name: string, http: HttpForm): HttpExchange<ControlReply> {
  return { name, effect: 'writes', http, decode: decodeControl }
}

function acknowledged(name: string, http: HttpForm): HttpExchange<void> {
  return { name, effect: 'writes', http, decode: decodeAcknowledgement }
}

function pick(
  form: ControlRequestOptions | undefined,
  forms: Record<ControlRequestOptions['via'], HttpForm>,
): HttpForm {
  return forms[form?.via ?? 'get']
}

/** A status reply or an acknowledgement; both mean that the command was taken. */
function decodeControl(reply: HomeseerReply): Result<ControlReply, ReplyFault> {
  if (reply.kind !== 'json') {
    const taken = decodeAcknowledgement(reply)
    return taken.ok ? ok({ shown: undefined }) : taken
  }
  const status = decodeStatus(reply.value)
  if (!status.ok) return status
  // HomeSeer answers an unknown ref with an empty list: nobody took that command.
  const shown = status.value.devices[0]
  return shown === undefined ? fail({ kind: 'refused', reason: 'error', text: 'no such device' }) : ok({ shown })
}
