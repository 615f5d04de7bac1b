/**
 * Request: the questions that change nothing in the house, what changes it, and what only looks as if it did.
 *
 * Pure.
 */
import { isJsonObject, type Json } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { decodeCameras, decodeSnapshot, type ReceivedCamera, type Snapshot } from './camera.ts'
import { decodeControls, type ControlPair, decodeStatus, type StatusReply, type ReceivedDevice } from './device.ts'
import { decodeEvents, type ReceivedEvent } from './event.ts'
import {
  jsonForm,
  type Exchange,
  type ParameterValue,
  decodeJson,
  unexpected,
  type Malformed,
  type Reply,
  type ReplyFault,
  actionForm,
  otherRequest,
  type HttpForm,
  decodeAcknowledgement,
} from './exchange.ts'
import { numberField, objectField, textField, textsField } from './field.ts'
import { decodePlugins, type ReceivedPlugin } from './plugin.ts'
import type { PanDirection } from './camera.ts'
import { controlUseNumber, type ControlUse } from './control-use.ts'

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

export interface ControlForm {
  /** `post` keeps the values out of access logs; `get` is the documented default. */
  readonly via: 'get' | 'post'
}

export function controlByValue(ref: number, value: number, form?: ControlForm): Exchange<ControlReply> {
  return controlling(
    'controldevicebyvalue',
    pick(form, {
      get: jsonForm('controldevicebyvalue', { ref, value }),
      post: actionForm('controlbyvalue', { deviceref: ref, value }),
    }),
  )
}

export function controlByLabel(ref: number, label: string, form?: ControlForm): Exchange<ControlReply> {
  return controlling(
    'controldevicebylabel',
    pick(form, {
      get: jsonForm('controldevicebylabel', { ref, label }),
      post: actionForm('controlbylabel', { deviceref: ref, label }),
    }),
  )
}

/** By position of the pair; the only way to hand a text box or colour picker its text. */
export function controlByIndex(ref: number, index: number, text?: string): Exchange<ControlReply> {
  return controlling('controldevicebyindex', jsonForm('controldevicebyindex', { ref, value: index, string: text }))
}

/** `rootRefs` are roots: HomeSeer looks through their features for a pair of that use. */
export function controlByUse(
  rootRefs: readonly number[],
  use: ControlUse,
  given: { readonly value?: number; readonly text?: string } = {},
): Exchange<ControlReply> {
  const controluse = controlUseNumber(use)
  const parameters = { ref: rootRefs, controluse, value: given.value, string: given.text }
  return controlling('controldevicebycontroluse', jsonForm('controldevicebycontroluse', parameters))
}

export interface StoredStatus {
  readonly ref: number
  readonly value?: number | undefined
  readonly text?: string | undefined
  /** Goes to HomeSeer's log. */
  readonly source?: string | undefined
}

/** Rewrites the remembered value or text. Moves no hardware. */
export function setStoredStatus(status: StoredStatus): Exchange<void> {
  const { ref, value, text, source } = status
  return acknowledged('setdevicestatus', jsonForm('setdevicestatus', { ref, value, string: text, source }))
}

export function setDeviceProperty(ref: number, property: string, value: string): Exchange<void> {
  return acknowledged('setdeviceproperty', jsonForm('setdeviceproperty', { ref, property, value }))
}

export function runEventById(id: number): Exchange<void> {
  return acknowledged('runevent', jsonForm('runevent', { id }))
}

/** For HomeSeers that give events no id. */
export function runEventByName(group: string, name: string, form?: ControlForm): Exchange<void> {
  return acknowledged(
    'runevent',
    pick(form, {
      get: jsonForm('runevent', { group, name }),
      post: actionForm('runevent', { group, name }),
    }),
  )
}

export function panCamera(camId: number, direction: PanDirection): Exchange<void> {
  return acknowledged('pancamera', jsonForm('pancamera', { camid: camId, direction }))
}

export function speak(phrase: string, host?: string): Exchange<void> {
  return acknowledged('speak', jsonForm('speak', { phrase, host }))
}

export interface PluginCall {
  readonly plugin: string
  readonly functionName: string
  readonly instance?: string | undefined
  readonly parameters: readonly (string | number | boolean)[]
}

/** Answers whatever the plug-in returns. */
export function callPlugin(call: PluginCall): Exchange<Json> {
  const numbered = Object.fromEntries(call.parameters.map((value, index) => [`P${index + 1}`, value]))
  const { plugin, functionName, instance } = call
  return otherRequest('pluginfunction', { plugin, function: functionName, instance, ...numbered }, 'writes')
}

function controlling(name: string, http: HttpForm): Exchange<ControlReply> {
  return { name, effect: 'writes', http, decode: decodeControl }
}

function acknowledged(name: string, http: HttpForm): Exchange<void> {
  return { name, effect: 'writes', http, decode: decodeAcknowledgement }
}

function pick(form: ControlForm | undefined, forms: Record<ControlForm['via'], HttpForm>): HttpForm {
  return forms[form?.via ?? 'get']
}

/** A status reply or an acknowledgement; both mean that the command was taken. */
function decodeControl(reply: Reply): Result<ControlReply, ReplyFault> {
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
