import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LOG_TABLE, tableLog } from '../../../test/table-log.ts'
import { toUtf8 } from '../../core/bytes.ts'
import { systemClock } from '../../core/clock.ts'
import { Database } from '../../core/database-store.ts'
import { VISION_PATH, WEBSOCKET_PATH } from './advertised-addresses.ts'
import { createDevicesServer } from './devices-server.ts'
import type { DevicesServer } from './devices-server.ts'
import { deviceToolsMigrations } from '../tools/tool-pin-store.ts'
import { rememberedDevicesMigrations, EnrolStore } from './enrol-store.ts'
import { createDeviceEnrolmentService } from './device-enrolment-service.ts'
import { createPhotoUploadService } from './photo-uploads.ts'
import type { PhotoUploadService } from './photo-uploads.ts'

const CAMERA = { deviceId: 'a0:b1:c2:d3:e4:f5', clientId: '7b94d69a-9808-4c59-9c9b-704333b38aff' }

let database: Database
let photoUploads: PhotoUploadService
let server: DevicesServer
let port: number

beforeEach(async () => {
  database = new Database({
    path: ':memory:',
    migrations: [rememberedDevicesMigrations, deviceToolsMigrations, LOG_TABLE],
  })
  photoUploads = createPhotoUploadService({ url: () => 'http://127.0.0.1/' })
  const addresses = { publicUrl: undefined, httpPort: 7421, mqttPort: 1883 }
  server = createDevicesServer({
    registrar: createDeviceEnrolmentService({
      store: new EnrolStore(database, tableLog(database, systemClock)),
      signingKey: toUtf8('0123456789abcdef0123456789abcdef'),
      addresses: () => ({ ...addresses, webSocketPath: WEBSOCKET_PATH, visionPath: VISION_PATH }),
      transport: 'websocket',
    }),
    photoUploads,
    acceptor: {
      attach: () => ({ text: () => undefined, audio: () => undefined, stir: () => undefined, closed: () => undefined }),
    },
  })
  port = await server.listen('127.0.0.1', 0)
})
afterEach(async () => {
  await server.close()
  database.close()
})

/** Begins to post a picture of a megabyte, and does not go on. */
function beginPost() {
  const token = photoUploads.issue(CAMERA, undefined)?.token ?? ''
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  socket.on('error', () => undefined)
  let received = ''
  socket.on('data', (text: string) => (received += text))
  socket.write(
    `POST ${VISION_PATH} HTTP/1.1\r\nHost: x\r\nDevice-Id: ${CAMERA.deviceId}\r\nClient-Id: ${CAMERA.clientId}\r\n` +
      `Authorization: Bearer ${token}\r\nContent-Length: 1048576\r\n\r\n${'x'.repeat(100_000)}`,
  )
  return { socket, ended: once(socket, 'close'), received: () => received }
}

it('reads one photo upload per device at a time: a newer upload ends the older one', async () => {
  const spent: string[] = []
  photoUploads.onSpent((deviceId) => spent.push(deviceId))
  const first = beginPost()
  await expect.poll(() => spent.length).toBe(1)
  const second = beginPost()
  await expect.poll(() => spent.length).toBe(2)
  await expect.poll(first.received).toMatch(/^HTTP\/1\.1 413 /)
  await first.ended
  expect(second.received()).toBe('')
  second.socket.destroy()
})
