/**
 * Write requests: what changes the house, and what only looks as if it did.
 *
 *   controldevice…      tells the hardware; the reply may still show the old state
 *   setdevicestatus     rewrites what HomeSeer remembers and moves nothing
 *   setdevicevaluebyref the same
 *
 * The names keep the two apart, because a remembered value read back after a remembered value was written proves
 * nothing.
 *
 * Pure.
 */
import type { Json } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { PanDirection } from './camera.ts'
import { controlUseNumber, type ControlUse } from './control-use.ts'
import { decodeStatus, type ReceivedDevice } from './device.ts'
import { actionForm, jsonForm, otherRequest, type Exchange, type HttpForm } from './exchange.ts'
import { decodeAcknowledgement, type Reply, type ReplyFault } from './reply.ts'

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
