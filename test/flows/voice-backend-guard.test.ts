/**
 * The guard before a voice backend: a gateway in a process of its own, a device whose voice is relayed, and a backend that
 * wants the device's tools.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { openDeviceHome } from '../device-home.ts'
import type { DeviceHome } from '../device-home.ts'
import { startRelayBackend } from '../relay-backend.ts'
import type { BackendConversation, RelayBackend } from '../relay-backend.ts'

let backend: RelayBackend
let house: DeviceHome
let conversation: BackendConversation
beforeAll(async () => {
  backend = await startRelayBackend()
  house = await openDeviceHome({ devices: `userTools: true, voice: { mode: relay, url: "${backend.url}" }` })
  const next = backend.next()
  await house.enrol('Kitchen', { transport: 'websocket', kind: 'camera', awake: false, listens: 'auto' })
  conversation = await next
})
afterAll(async () => {
  await house.stop()
  await backend.stop()
})

const textOf = (answer: JsonObject): string => JSON.stringify(answer['result'])

describe('a voice backend', () => {
  it('sets the volume as its own principal, and is recorded', async () => {
    const answer = await conversation.ask(1, 'tools/call', {
      name: 'self.audio_speaker.set_volume',
      arguments: { volume: 35 },
    })
    expect(answer).toMatchObject({ id: 1, result: { content: [{ type: 'text', text: 'true' }], isError: false } })
    const { structured } = await house.asOwner('ledger_changes', {})
    expect(JSON.stringify(structured)).toContain('voice-backend:kitchen')
  })

  it('is told in speakable words that a photo needs an approval, and takes it once approved', async () => {
    const photo = { name: 'self.camera.take_photo', arguments: { question: 'who?' } }
    expect(textOf(await conversation.ask(2, 'tools/call', photo))).toContain(
      'I have asked you to confirm this first: camera.take_photo on Kitchen. Nothing was done yet.',
    )
    const approvals = (await house.api('/api/approvals?state=requested', {
      token: house.ownerToken,
    })) as unknown as readonly { id: string }[]
    expect(approvals).toHaveLength(1)
    await house.api(`/api/approvals/${approvals[0]?.id}/approve`, { method: 'POST', body: {}, token: house.ownerToken })
    expect(textOf(await conversation.ask(3, 'tools/call', photo))).toContain('success')
  })

  it('gets no user-only tool, even by its name', async () => {
    const answer = textOf(await conversation.ask(4, 'tools/call', { name: 'self.reboot', arguments: {} }))
    expect(answer).toContain('for people')
    const unknown = textOf(await conversation.ask(5, 'tools/call', { name: 'self.nothing', arguments: {} }))
    expect(unknown).toContain('not on offer')
  })
})
