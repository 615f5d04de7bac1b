import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { silentLogger } from '../../src/core/logger.ts'
import type { FullAndSlimOwnManifest } from '../../src/mesh/own-manifest.ts'
import { stripNodeIdPrefix } from '../../src/mesh/identity/node-key.ts'
import { NatsRegistry } from '../../src/mesh/nats/registry-client.ts'
import type { NatsRegistryOptions } from '../../src/mesh/nats/registry-client.ts'
import { formatBucketName } from '../../src/mesh/nats/subject.ts'
import { until } from '../mesh-house.ts'
import { manualClock } from '../manual-clock.ts'
import { identityOf } from '../mesh-keys.ts'
import { NATS_SERVER, startNats, warnWithoutNats } from '../nats-process.ts'

warnWithoutNats('the registry in NATS')
describe.skipIf(NATS_SERVER === '')('a member list in NATS', () => {
  it('is restored when an older one is written over it', async () => {
    const broker = await startNats()
    const connection = await connect({ servers: broker.url })
    const community = identityOf(1).id
    const registry = new NatsRegistry({
      link: { isUp: true } as NatsRegistryOptions['link'],
      self: identityOf(2).id,
      communityId: () => community,
      onCommunity: () => undefined,
      clock: systemClock,
      logger: silentLogger,
    })
    const heard: unknown[] = []
    await registry.start((hint) => void heard.push(hint))
    registry.linkUp(connection)
    const own = { slim: { sequence: 1 }, full: { capabilities: [], capabilities_hash: 'h' } }
    registry.publish(own as unknown as FullAndSlimOwnManifest, { revision: 3 })
    const bucket = await new Kvm(connection).create(formatBucketName(community), { history: 1, ttl: 60_000 })
    const held = async (): Promise<unknown> => (await bucket.get('community'))?.json()
    await until('it is there', async () => JSON.stringify(await held()) === '{"revision":3}')
    await bucket.put('community', '{"revision":2}')
    await until('it is there again', async () => JSON.stringify(await held()) === '{"revision":3}')
    expect(heard).toContainEqual({ kind: 'community', document: { revision: 2 } })
    // A newer one is left alone: whoever heard of it takes it over.
    await bucket.put('community', '{"revision":4}')
    await until('it was heard', async () => heard.some((hint) => JSON.stringify(hint).includes('"revision":4')))
    expect(await held()).toEqual({ revision: 4 })
    await registry.stop(undefined)
    await connection.close()
    await broker.stop()
  })
})

describe.skipIf(NATS_SERVER === '')('the manifest of a node in NATS', () => {
  it('is renewed before it expires, also where another node keeps the member list', async () => {
    const broker = await startNats()
    const connection = await connect({ servers: broker.url })
    const [community, self] = [identityOf(1).id, identityOf(2).id]
    const clock = manualClock()
    const registry = new NatsRegistry({
      link: { isUp: true } as NatsRegistryOptions['link'],
      self,
      communityId: () => community,
      onCommunity: () => undefined,
      clock,
      logger: silentLogger,
    })
    const heard: string[] = []
    await registry.start((hint) => void heard.push(JSON.stringify(hint)))
    registry.linkUp(connection)
    const own = {
      slim: { sequence: 1 },
      full: { capabilities: [], capabilities_hash: 'h' },
    } as unknown as FullAndSlimOwnManifest
    registry.publish(own, { revision: 3 })
    const bucket = await new Kvm(connection).create(formatBucketName(community), { history: 1, ttl: 60_000 })
    const revision = async (): Promise<number> => (await bucket.get(`caps.${stripNodeIdPrefix(self)}`))?.revision ?? 0
    await until('it is there', async () => (await revision()) > 0)
    const first = await revision()
    clock.advance(20_000)
    await bucket.put('community', '{"revision":3,"by":"another"}')
    await until('it was heard', async () => heard.some((hint) => hint.includes('another')))
    registry.publish(own, { revision: 3 })
    clock.advance(15_000)
    registry.publish(own, { revision: 3 })
    await until('it is there anew', async () => (await revision()) > first)
    expect((await bucket.get(`caps.${stripNodeIdPrefix(self)}`))?.json()).toEqual({ hash: 'h', capabilities: [] })
    await registry.stop(undefined)
    await connection.close()
    await broker.stop()
  })
})

describe.skipIf(NATS_SERVER === '')('a NATS registry that cannot be opened', () => {
  it('is retried by one timer however often something is published, and warned about once', async () => {
    const broker = await startNats('jetstream: disabled')
    const connection = await connect({ servers: broker.url })
    const community = identityOf(1).id
    const warnings: string[] = []
    let tries = 0
    const registry = new NatsRegistry({
      link: { isUp: true } as NatsRegistryOptions['link'],
      self: identityOf(2).id,
      communityId: () => community,
      onCommunity: () => void tries++,
      clock: systemClock,
      logger: { ...silentLogger, warn: (_, message) => void warnings.push(message) },
    })
    await registry.start(() => undefined)
    registry.linkUp(connection)
    await until('it failed', async () => warnings.length === 1)
    const own = {
      slim: { sequence: 1 },
      full: { capabilities: [], capabilities_hash: 'h' },
    } as unknown as FullAndSlimOwnManifest
    const before = tries
    registry.publish(own, { revision: 3 })
    expect(tries).toBe(before)
    await until('it was tried again', async () => tries >= 4)
    expect(warnings).toEqual(['the NATS registry cannot be opened (is JetStream on? nats-server -js)'])
    await registry.stop(undefined)
    await connection.close()
    await broker.stop()
  })
})
