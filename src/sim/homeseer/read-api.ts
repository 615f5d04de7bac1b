/** Read API: the requests of the simulated HomeSeer that change nothing. */
import { toBase64 } from '../../core/bytes.ts'
import type { Json } from '../../core/json.ts'
import { encodeCamera } from '../../homeseer/wire/camera.ts'
import { encodeControlPair } from '../../homeseer/wire/device.ts'
import { encodeWireDate } from '../../homeseer/wire/record-field.ts'
import type { HomeseerDeviceRecord } from '../../homeseer/wire/device.ts'
import { encodeEvent } from '../../homeseer/wire/event.ts'
import { encodePlugin } from '../../homeseer/wire/plugin.ts'
import { encodeJpeg } from '../jpeg.ts'
import {
  BAD_REQUEST_ANSWER,
  createSimulatedJsonAnswer,
  createResponseTextAnswer,
  createRawJsonAnswer,
  type SimulatedHttpAnswer,
} from './http-answer.ts'
import { encodeSimulatedStatus } from './device-answer.ts'
import type { SimulatedCamera, SimulatedUser } from './simulated-system.ts'
import { findOwnProperty } from './own-property.ts'
import type { SimulatedWorld } from './simulated-world.ts'

export interface SimulatedApiRequest {
  readonly parameters: ReadonlyMap<string, string>
  readonly user: SimulatedUser
  readonly nowMs: number
}

type ReadRequest = (world: SimulatedWorld, question: SimulatedApiRequest) => SimulatedHttpAnswer

/** Callers choose the ids, each of which stores a set of refs, so their number is limited. */
const MAX_CHANGE_IDS = 100

/** Returns `undefined` when the request is not one of these. */
export function answerReadRequest(
  world: SimulatedWorld,
  request: string,
  question: SimulatedApiRequest,
): SimulatedHttpAnswer | undefined {
  return findOwnProperty(READS, request)?.(world, question)
}

const READS: Readonly<Record<string, ReadRequest>> = {
  hsversion: ({ system }) => createResponseTextAnswer(system.version),
  getstatus: (world, { parameters }) => answerStatusRequest(world, chosenRecords(world, parameters), parameters),
  getcontrol: getControl,
  getcontrol2: ({ house }, { parameters }) => controlList(house, parseDeviceRefsParameter(parameters) ?? house.refs),
  getevents: ({ system }) =>
    createSimulatedJsonAnswer({
      Name: 'HomeSeer Events',
      Version: '1.0',
      Events: eventList(system),
    }),
  getlocations: ({ house }) => {
    const records = house.refs.map((ref) => house.record(ref)).filter((record) => record !== undefined)
    const places = (nameOf: (record: HomeseerDeviceRecord) => string) => ['All', ...new Set(records.map(nameOf))].sort()
    return createSimulatedJsonAnswer({
      location1: places(({ location }) => location),
      location2: places(({ location2 }) => location2),
    })
  },
  getcategories: ({ system }) => createSimulatedJsonAnswer({ categories: system.categories }),
  getcounter: ({ system }, { parameters }) => {
    const name = parameters.get('counter')
    if (name === undefined) return createSimulatedJsonAnswer(Object.fromEntries(system.counters))
    const value = system.counters.get(name)
    return value === undefined ? BAD_REQUEST_ANSWER : createSimulatedJsonAnswer({ Value: value })
  },
  getsetting: ({ system }, { parameters }) => {
    const value = system.settings.get(parameters.get('setting') ?? '')
    return value === undefined ? BAD_REQUEST_ANSWER : createSimulatedJsonAnswer({ Value: value })
  },
  getdeviceinfo: ({ house }) =>
    createSimulatedJsonAnswer({ count: house.refs.length, last_added: encodeWireDate(undefined) }),
  getdeviceschanged: getDevicesChanged,
  getsessionconfig: ({ system }, { user }) =>
    createSimulatedJsonAnswer({
      hsVersion: system.version,
      isLocation1First: true,
      useLocation2: true,
      location1Label: String(system.settings.get('gLocLabel') ?? ''),
      location2Label: String(system.settings.get('gLocLabel2') ?? ''),
      username: user.username,
      userPermissions: {
        user_permissions: user.rights,
        user_permissions_valid: true,
        eventAccess: true,
        cameraAdd: true,
      },
    }),
  pluginlist: ({ system }) =>
    createSimulatedJsonAnswer({ Plugins: system.plugins.filter((one) => one.enabled).map(encodePlugin) }),
  getcameras: ({ system }) => createSimulatedJsonAnswer({ Cameras: system.cameras.map(encodeCamera) }),
  getcamerasnapshot: ({ system, faults }, { parameters, nowMs }) => {
    const camera = system.cameras.find((one) => one.camId === Number(parameters.get('camid')))
    if (camera === undefined) return BAD_REQUEST_ANSWER
    const bytes = cameraPicture(camera, nowMs)
    if (faults.snapshotAsJson) return createSimulatedJsonAnswer({ Image: toBase64(bytes) })
    return { status: 200, body: bytes, contentType: 'image/jpeg' }
  },
}

export function answerStatusRequest(
  world: SimulatedWorld,
  records: readonly HomeseerDeviceRecord[],
  parameters: ReadonlyMap<string, string>,
): SimulatedHttpAnswer {
  const compress = isTrue(parameters.get('compress'))
  // Documented: events come along with everything, unless they are excluded.
  const withEvents = isTrue(parameters.get('everything')) && !isTrue(parameters.get('excludeevents'))
  const events = withEvents ? { events: eventList(world.system) } : {}
  return createRawJsonAnswer(encodeSimulatedStatus(records, { compress, zone: world.system.zone, ...events }))
}

function eventList({ events }: SimulatedWorld['system']): readonly Json[] {
  return events.map((event) => encodeEvent({ ...event, voiceEnabled: event.voiceCommand !== '' }))
}

/** With `everything` the location filters are ignored, which is documented and easily overlooked. */
function chosenRecords(
  { house }: SimulatedWorld,
  parameters: ReadonlyMap<string, string>,
): readonly HomeseerDeviceRecord[] {
  const everything = isTrue(parameters.get('everything'))
  const matches = (filter: string | undefined, place: string) =>
    everything || isAll(filter) || filter?.toLowerCase() === place.toLowerCase()
  return (parseDeviceRefsParameter(parameters) ?? house.refs)
    .map((ref) => house.record(ref, everything))
    .filter((record) => record !== undefined)
    .filter((record) => matches(parameters.get('location1'), record.location))
    .filter((record) => matches(parameters.get('location2'), record.location2))
    .filter((record) => !isTrue(parameters.get('voiceonly')) || record.voiceCommand !== '')
}

/** One ref gets the short shape, any other question the list. */
function getControl({ house }: SimulatedWorld, { parameters }: SimulatedApiRequest): SimulatedHttpAnswer {
  const refs = parseDeviceRefsParameter(parameters)
  const [ref, second] = refs ?? []
  if (ref === undefined || second !== undefined) return controlList(house, refs ?? house.refs)
  const record = house.record(ref)
  if (record === undefined) return BAD_REQUEST_ANSWER
  const { name, location, location2 } = record
  return createSimulatedJsonAnswer({
    ControlPairs: house.pairs(ref).map(encodeControlPair),
    ref,
    name,
    location,
    location2,
  })
}

function controlList(house: SimulatedWorld['house'], refs: readonly number[]): SimulatedHttpAnswer {
  const devices = refs
    .map((ref) => house.record(ref))
    .filter((record) => record !== undefined)
    .map(({ ref, name, location, location2 }) => ({
      ref,
      name,
      location,
      location2,
      ControlPairs: house.pairs(ref).map(encodeControlPair),
    }))
  return createSimulatedJsonAnswer({ Devices: devices })
}

/** The first call with an id only starts the count. */
function getDevicesChanged({ changedSince }: SimulatedWorld, { parameters }: SimulatedApiRequest): SimulatedHttpAnswer {
  const id = parameters.get('devicechangeid')
  if (id === undefined || (!changedSince.has(id) && changedSince.size >= MAX_CHANGE_IDS)) return BAD_REQUEST_ANSWER
  const refs = [...(changedSince.get(id) ?? [])]
  changedSince.set(id, new Set())
  return createSimulatedJsonAnswer({ refs })
}

/** A grey gradient that moves with the camera, and a bright block that moves with the minute. */
function cameraPicture(camera: SimulatedCamera, nowMs: number): Uint8Array {
  const bright = Math.floor(nowMs / 60_000) % 16
  return encodeJpeg(16, 12, (column, row) => {
    const slope = 40 * camera.camId + 8 * (column + camera.pan.x) + 4 * (row + camera.pan.y)
    const level = row === 0 && column === bright ? 255 : Math.min(Math.max(slope, 0), 255)
    return [level, level, level]
  })
}

/** `undefined` means all. A ref that is not a number matches no device. */
export function parseDeviceRefsParameter(parameters: ReadonlyMap<string, string>): readonly number[] | undefined {
  const text = parameters.get('ref')
  return isAll(text) ? undefined : (text ?? '').split(',').map((ref) => (/^\d+$/.test(ref.trim()) ? Number(ref) : -1))
}

function isAll(text: string | undefined): boolean {
  return text === undefined || text === '' || text.toLowerCase() === 'all'
}

function isTrue(text: string | undefined): boolean {
  return text?.toLowerCase() === 'true' || text === '1'
}
