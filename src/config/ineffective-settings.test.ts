import { describe, expect, it } from 'vitest'
import { parseConfig } from './config-file.ts'
import { listIneffectiveSettings } from './ineffective-settings.ts'

function idle(yaml: string, folders: readonly string[] = []): readonly string[] {
  const config = parseConfig('inline', yaml)
  if (!config.ok) throw new Error('the configuration is wrong')
  return listIneffectiveSettings(config.value, (path) => folders.includes(path))
}

describe('settings without effect', () => {
  it.each([
    ['homeseer: { user: ada, password: x }', 'homeseer.user, homeseer.password do nothing without homeseer.url'],
    ['mesh: { nats: { servers: ["nats://192.0.2.1:4222"] } }', 'mesh.nats does nothing without mesh.enabled'],
    ['devices: { port: 7500 }', 'devices.port does nothing without devices.enabled'],
    ['ebus: { snapshotSeconds: 60 }', 'ebus.snapshotSeconds does nothing without ebus.buses'],
    ['skills: { roots: [/nowhere] }', 'skills.roots: /nowhere is not a folder, so no skill is read from it'],
    [
      'models: { endpoints: [{ url: "http://192.0.2.1:8080/v1" }] }',
      'models.endpoints: http://192.0.2.1:8080/v1 is given neither chat nor embed models, so it offers nothing',
    ],
  ])('are reported: %s', (yaml, sentence) => {
    expect(idle(yaml)).toEqual([sentence])
  })

  it.each([
    '',
    'mesh: { enabled: false, mdns: true }',
    'homeseer: { url: "http://192.0.2.1", user: ada }',
    'mesh: { enabled: true, nats: { servers: ["nats://192.0.2.1:4222"] } }',
    'skills: { roots: [/here] }',
    'models: { endpoints: [{ url: "http://192.0.2.1:8080/v1", chat: [big] }] }',
  ])('do not include: %j', (yaml) => {
    expect(idle(yaml, ['/here'])).toEqual([])
  })
})
