/**
 * Write API: the requests of the simulated HomeSeer that change something, each noted as a deed whether it was let or
 * not.
 */
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import { CAMERA_PAN_COMMANDS } from '../../homeseer/wire/camera.ts'
import { decodeControlUse } from '../../homeseer/wire/control-use.ts'
import { readRecordNumber, readRecordText } from '../../homeseer/wire/record-field.ts'
import {
  BAD_REQUEST_ANSWER,
  createSimulatedJsonAnswer,
  createOkOrBadRequestAnswer,
  createResponseTextAnswer,
  createOkOrErrorAnswer,
  type SimulatedHttpAnswer,
} from './http-answer.ts'
import { findSimulatedEvent, runSimulatedEvent } from './simulated-events.ts'
import { maySimulatedUserControl } from './login.ts'
import { parseDeviceRefsParameter, answerStatusRequest, type SimulatedApiRequest } from './read-api.ts'
import { recordSimulatedChangeAttempt, type SimulatedCamera } from './simulated-system.ts'
import { findOwnProperty } from './own-property.ts'
import type { SimulatedWorld } from './simulated-world.ts'

type WriteRequest = (world: SimulatedWorld, question: SimulatedApiRequest) => SimulatedHttpAnswer

/** Returns `undefined` when the request is not one of the changing requests. */
export function answerWriteRequest(
  world: SimulatedWorld,
  request: string,
  question: SimulatedApiRequest,
): SimulatedHttpAnswer | undefined {
  const write = findOwnProperty(WRITES, request)
  if (write === undefined) return undefined
  return maySimulatedUserControl(question.user)
    ? write(world, question)
    : createResponseTextAnswer('Error, not authorized')
}

/** Answers the POST form of a request: a JSON action whose members have their own names. */
export function answerPostActionRequest(
  world: SimulatedWorld,
  body: JsonObject,
  requester: Omit<SimulatedApiRequest, 'parameters'>,
): SimulatedHttpAnswer {
  const [request, names] = findOwnProperty(ACTIONS, readRecordText(body, 'action')?.toLowerCase() ?? '') ?? []
  if (request === undefined || names === undefined) return BAD_REQUEST_ANSWER
  const parameters = new Map<string, string>()
  for (const [member, parameter] of Object.entries(names)) {
    const value = readRecordText(body, member)
    if (value !== undefined) parameters.set(parameter, value)
  }
  return answerWriteRequest(world, request, { ...requester, parameters }) ?? BAD_REQUEST_ANSWER
}

const ACTIONS: Readonly<Record<string, readonly [request: string, names: Readonly<Record<string, string>>]>> = {
  controlbyvalue: ['controldevicebyvalue', { deviceref: 'ref', value: 'value' }],
  controlbylabel: ['controldevicebylabel', { deviceref: 'ref', label: 'label' }],
  runevent: ['runevent', { group: 'group', name: 'name', id: 'id' }],
}

const WRITES: Readonly<Record<string, WriteRequest>> = {
  controldevicebyvalue: (world, question) =>
    control(world, question, (ref, { value }, by) => value !== undefined && world.house.controlByValue(ref, value, by)),
  controldevicebylabel: (world, question) =>
    control(world, question, (ref, { label }, by) => label !== undefined && world.house.controlByLabel(ref, label, by)),
  controldevicebyindex: (world, question) =>
    control(
      world,
      question,
      (ref, { value, text }, by) => value !== undefined && world.house.controlByIndex(ref, { index: value, text }, by),
    ),
  controldevicebycontroluse: (world, question) =>
    control(world, question, (ref, { value, text, use }, by) =>
      world.house.controlByUse(ref, { use: decodeControlUse(use), value, text }, by),
    ),
  setdevicestatus: store,
  setdevicevaluebyref: store,
  setdeviceproperty: ({ house, system }, { parameters }) => {
    const ref = parseDeviceRefsParameter(parameters)?.[0] ?? -1
    const property = parameters.get('property') ?? ''
    const done = house.setProperty(ref, property, parameters.get('value') ?? '')
    return createOkOrBadRequestAnswer(recordSimulatedChangeAttempt(system, { kind: 'property', ref, property, done }))
  },
  runevent: (world, { parameters, nowMs }) => {
    const { id } = givenOf(parameters)
    const event = findSimulatedEvent(world.system, { id, group: parameters.get('group'), name: parameters.get('name') })
    if (event === undefined) return BAD_REQUEST_ANSWER
    return runSimulatedEvent(world, event, nowMs)
      ? createResponseTextAnswer('ok')
      : createResponseTextAnswer('Error, event is disabled')
  },
  pluginfunction: ({ system }, { parameters }) => {
    const plugin = parameters.get('plugin') ?? ''
    const functionName = parameters.get('function') ?? ''
    const instance = parameters.get('instance')
    const done = system.plugins.some(
      (one) => one.id.toLowerCase() === plugin.toLowerCase() && (instance === undefined || one.instance === instance),
    )
    recordSimulatedChangeAttempt(system, { kind: 'plugin-function', plugin, functionName, done })
    return done ? createSimulatedJsonAnswer({ plugin, function: functionName, result: 0 }) : BAD_REQUEST_ANSWER
  },
  pancamera: (world, { parameters }) => {
    const camId = Number(parameters.get('camid'))
    const direction = parameters.get('direction') ?? ''
    const done = pan(world, camId, direction)
    return createOkOrErrorAnswer(
      recordSimulatedChangeAttempt(world.system, { kind: 'pan', camId, direction, done }) ? 'ok' : 'error',
    )
  },
  speak: ({ system }, { parameters }) => {
    const phrase = parameters.get('phrase') ?? ''
    return createOkOrErrorAnswer(
      recordSimulatedChangeAttempt(system, { kind: 'speak', phrase, done: phrase !== '' }) ? 'ok' : 'error',
    )
  },
}

interface Given {
  readonly value: number | undefined
  readonly text: string | undefined
  readonly label: string | undefined
  readonly use: number | undefined
  readonly id: number | undefined
}

/** Answers with the state of this moment, which after a slow command is still the old state. */
function control(
  world: SimulatedWorld,
  { parameters, user, nowMs }: SimulatedApiRequest,
  act: (ref: number, given: Given, by: { readonly user: string; readonly nowMs: number }) => boolean,
): SimulatedHttpAnswer {
  const { house, system } = world
  const given = givenOf(parameters)
  const refs = parseDeviceRefsParameter(parameters) ?? []
  const by = { user: user.username, nowMs }
  for (const ref of refs) {
    const done = act(ref, given, by)
    const { value, text = given.label } = given
    recordSimulatedChangeAttempt(system, { kind: 'control', ref, ...pick(value, text), done })
    if (!done) return createOkOrErrorAnswer('error')
  }
  const records = refs.map((ref) => house.record(ref)).filter((record) => record !== undefined)
  return records.length === 0 ? createOkOrErrorAnswer('error') : answerStatusRequest(world, records, parameters)
}

function store({ house, system }: SimulatedWorld, { parameters, nowMs }: SimulatedApiRequest): SimulatedHttpAnswer {
  const ref = parseDeviceRefsParameter(parameters)?.[0] ?? -1
  const { value, text } = givenOf(parameters)
  const done = (value !== undefined || text !== undefined) && house.store(ref, pick(value, text), nowMs)
  return createOkOrBadRequestAnswer(
    recordSimulatedChangeAttempt(system, { kind: 'store', ref, ...pick(value, text), done }),
  )
}

/**
 * Moves the camera one block for each start command; a stop command has no effect, because the movement is already
 * over.
 */
function pan({ system }: SimulatedWorld, camId: number, direction: string): boolean {
  const camera = system.cameras.find((one) => one.camId === camId)
  const known = CAMERA_PAN_COMMANDS.find((one) => one === direction.toLowerCase())
  if (camera === undefined || known === undefined || !camera.supportsPanTilt) return false
  const [x, y] = findOwnProperty(STEPS, known) ?? [0, 0]
  const moved: SimulatedCamera = { ...camera, pan: { x: camera.pan.x + x, y: camera.pan.y + y } }
  system.cameras = system.cameras.map((one) => (one.camId === camId ? moved : one))
  return true
}

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  upstart: [0, -1],
  downstart: [0, 1],
  leftstart: [-1, 0],
  rightstart: [1, 0],
}

function givenOf(parameters: ReadonlyMap<string, string>): Given {
  const members = Object.fromEntries(parameters)
  return {
    value: readRecordNumber(members, 'value'),
    text: parameters.get('string'),
    label: parameters.get('label'),
    use: readRecordNumber(members, 'controluse'),
    id: readRecordNumber(members, 'id'),
  }
}

function pick(
  value: number | undefined,
  text: string | undefined,
): { readonly value?: number; readonly text?: string } {
  return omitUndefined({ value, text })
}
