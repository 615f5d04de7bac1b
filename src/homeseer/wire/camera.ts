/**
 * Camera: its record and its snapshot. No captured reply of a real system is known, so the reader accepts every
 * spelling that another client expects, and a snapshot as bytes or as base64 in a member (docs/protocols/homeseer.md,
 * assumptions).
 */
import { fromBase64 } from '../../core/bytes.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { readRecordBoolean, readRecordNumber, readRecordObjects, readRecordText } from './record-field.ts'
import {
  decodeHomeseerReply,
  type MalformedReplyFault,
  type HomeseerReplyBody,
  type HomeseerReplyFault,
} from './http-exchange.ts'

export interface CameraRecord {
  readonly camId: number
  readonly name: string
  readonly supportsPanTilt: boolean
}

export interface ReceivedCamera extends CameraRecord {
  readonly raw: JsonObject
}

export interface CameraSnapshot {
  readonly mimeType: string
  readonly bytes: Uint8Array
}

export const CAMERA_PAN_COMMANDS = [
  'upstart',
  'upstop',
  'downstart',
  'downstop',
  'leftstart',
  'leftstop',
  'rightstart',
  'rightstop',
] as const

export type CameraPanCommand = (typeof CAMERA_PAN_COMMANDS)[number]

const MAX_CAMERAS = 1_000

export function decodeCameras(value: Json): Result<readonly ReceivedCamera[], MalformedReplyFault> {
  const records = isJsonObject(value) ? readRecordObjects(value, 'Cameras', 'cameras') : undefined
  if (records === undefined) return fail({ kind: 'malformed', detail: 'a cameras reply without a list of cameras' })
  return ok(
    records
      .slice(0, MAX_CAMERAS)
      .map(decodeCamera)
      .filter((camera) => camera !== undefined),
  )
}

function decodeCamera(record: JsonObject): ReceivedCamera | undefined {
  const camId = readRecordNumber(record, 'id', 'camid', 'CamID', 'ID')
  if (camId === undefined) return undefined
  return {
    camId,
    name: readRecordText(record, 'name', 'Name') ?? '',
    supportsPanTilt: readRecordBoolean(record, 'supports_pantilt', 'SupportsPanTilt') ?? false,
    raw: record,
  }
}

export function encodeCamera(camera: CameraRecord): JsonObject {
  return { id: camera.camId, name: camera.name, supports_pantilt: camera.supportsPanTilt }
}

export function decodeCameraSnapshot(reply: HomeseerReplyBody): Result<CameraSnapshot, HomeseerReplyFault> {
  if (reply.kind === 'image') return ok({ mimeType: reply.mimeType, bytes: reply.bytes })
  const encoded =
    reply.kind === 'response' ? reply.text : reply.kind === 'json' ? snapshotMember(reply.value) : undefined
  const bytes = encoded === undefined ? undefined : fromBase64(encoded.replace(/^data:image\/[a-z]+;base64,/, ''))
  const inner = bytes === undefined ? undefined : decodeHomeseerReply(bytes)
  if (inner?.ok === true && inner.value.kind === 'image')
    return ok({ mimeType: inner.value.mimeType, bytes: inner.value.bytes })
  return fail({ kind: 'malformed', detail: 'a snapshot that holds no picture' })
}

function snapshotMember(value: Json): string | undefined {
  return isJsonObject(value) ? readRecordText(value, 'Image', 'image', 'Snapshot', 'snapshot', 'data') : undefined
}
