/**
 * Camera tools: list cameras, take a picture, and move a camera that can be moved.
 *
 * Reads and writes through the link.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import { toBase64 } from '../../core/bytes.ts'
import type { Fault } from '../../core/fault.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { CAMERA_PAN_COMMANDS, type ReceivedCamera } from '../wire/camera.ts'
import { createCameraSnapshotRequest, createCameraPanRequest } from '../wire/json-requests.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { createHomeseerOutcome, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import { createHs4Fault, createHomeseerReadFault, createHomeseerWriteFault } from './faults.ts'
import { BASE_GUARD_ARGUMENT_SCHEMAS, defineHomeseerChange, createTolerantInputSchema } from './homeseer-change.ts'
import { toTextOrEmpty } from './json-text.ts'

const camId = z.int().min(0).describe('The camera’s id.')

export function createCameraReadTools(homeseer: HomeseerToolContext): readonly Capability[] {
  return [
    defineTool({
      ...HOMESEER_READ_DEFAULTS,
      name: 'hs4.cameras.list',
      title: 'List cameras',
      description: 'Lists HomeSeer’s cameras and whether they can be moved.',
      input: createTolerantInputSchema({}),
      output: z.looseObject({ cameras: z.array(z.looseObject({ camId: z.int(), name: z.string() })) }),
    }).handledBy(async () => {
      const cameras = await homeseer.catalog.cameras()
      if (!cameras.ok) return fail(createHomeseerReadFault(cameras.fault, 'reading the cameras'))
      return createHomeseerOutcome({
        cameras: cameras.value.map(({ raw, ...camera }) => ({ ...camera, raw })),
        // The contract has both: each camera with its record, and the records alone.
        raw: cameras.value.map(({ raw }) => raw),
      })
    }),

    defineTool({
      ...HOMESEER_READ_DEFAULTS,
      name: 'hs4.cameras.snapshot.get',
      title: 'Take a picture',
      description: 'The present picture of a camera, as an image.',
      input: createTolerantInputSchema({ camId }),
      output: z.looseObject({ camId: z.int(), mimeType: z.string(), bytes: z.int() }),
    }).handledBy(async (input, call) => {
      const camera = await findCamera(homeseer, input.camId)
      if (!camera.ok) return camera
      const picture = await homeseer.link.json.call(createCameraSnapshotRequest(input.camId), call.signal)
      if (!picture.ok) return fail(createHomeseerReadFault(picture.fault, `taking a picture with ${camera.value.name}`))
      const { mimeType, bytes } = picture.value
      // The picture as an image block for clients that show images, and its size for the others.
      const data = toBase64(bytes)
      return ok({
        // The contract's raw payload is beside the image, unless it is too large for a model.
        data: {
          camId: input.camId,
          name: camera.value.name,
          mimeType,
          bytes: bytes.length,
          raw: bytes.length <= MAX_RAW_BYTES ? data : null,
        },
        content: [
          { type: 'image', data, mimeType },
          { type: 'text', text: `${camera.value.name}: ${mimeType}, ${bytes.length} bytes` },
        ],
      })
    }),
  ]
}

/** About ten thousand tokens. */
const MAX_RAW_BYTES = 32_768

export function createCameraPanTool(homeseer: HomeseerToolContext): Capability {
  return defineHomeseerChange(homeseer.rules, {
    name: 'hs4.cameras.pan',
    title: 'Move a camera',
    description:
      'Starts or stops moving a camera up, down, left or right. A movement that was started goes on until it is stopped.',
    input: createTolerantInputSchema({ camId, direction: z.enum(CAMERA_PAN_COMMANDS), ...BASE_GUARD_ARGUMENT_SCHEMAS }),
    effect: 'writes',
    lock: ({ camId: id }) => `homeseer:camera:${toTextOrEmpty(id)}`,
    plan: (input) => movableCamera(homeseer, input.camId),
    assess: ({ camId: id, name }, { direction }) => ({
      effect: 'writes',
      target: `homeseer:camera:${id}`,
      label: `Camera ${name}`,
      touched: { cameraIds: [id] },
      preview: { camera: { camId: id, name }, direction },
    }),
    act: async ({ camId: id, name }, { direction }, call) => {
      const done = await homeseer.link.json.call(createCameraPanRequest(id, direction), call.signal)
      if (!done.ok)
        return fail(
          createHomeseerWriteFault(done.fault, `moving ${name}`, [
            { name: 'hs4.cameras.snapshot.get', args: { camId: id } },
          ]),
        )
      // HomeSeer does not say where a camera looks, so there is nothing to read back.
      return createHomeseerOutcome({
        applied: true,
        camId: id,
        direction,
        raw: 'ok',
        verification: { performed: false },
      })
    },
  })
}

async function findCamera(homeseer: HomeseerToolContext, id: number): Promise<Result<ReceivedCamera, Fault>> {
  const cameras = await homeseer.catalog.cameras()
  if (!cameras.ok) return fail(createHomeseerReadFault(cameras.fault, 'reading the cameras'))
  const camera = cameras.value.find((one) => one.camId === id)
  if (camera !== undefined) return ok(camera)
  const details = { camId: id, known: cameras.value.map((one) => one.camId) }
  return fail(
    createHs4Fault('NOT_FOUND', `HomeSeer has no camera ${id}.`, { details, next: [{ name: 'hs4.cameras.list' }] }),
  )
}

/** A fixed camera would accept the request and not move, so it is refused before. */
async function movableCamera(homeseer: HomeseerToolContext, id: number): Promise<Result<ReceivedCamera, Fault>> {
  const camera = await findCamera(homeseer, id)
  if (!camera.ok || camera.value.supportsPanTilt) return camera
  return fail(
    createHs4Fault('UNSUPPORTED_ON_TARGET', `${camera.value.name} cannot be moved.`, {
      details: { camId: id },
      next: [{ name: 'hs4.cameras.snapshot.get', args: { camId: id } }],
    }),
  )
}
