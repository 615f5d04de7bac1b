import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../src/core/logger.ts'
import type { OwnManifest } from '../../src/mesh/self.ts'
import { NatsRegistry } from '../../src/mesh/nats/registry-client.ts'
import type { RegistryOptions } from '../../src/mesh/nats/registry-client.ts'
import { bucketName } from '../../src/mesh/nats/subject.ts'
import { until } from '../mesh-house.ts'
import { identityOf } from '../mesh-keys.ts'
import { NATS_SERVER, startNats, warnWithoutNats } from '../nats-process.ts'

warnWithoutNats('the registry in NATS')
describe.skipIf(NATS_SERVER === '')('a member list in NATS', () => {
  it('that somebody put an older one over is put there again', async () => {
    const broker = await startNats()
    const connection = await connect({ servers: broker.url })
    const community = identityOf(1).id
    const registry = new NatsRegistry({
      link: { isUp: true } as RegistryOptions['link'],
      self: identityOf(2).id,
      communityId: () => community,
      onCommunity: () => undefined,
      logger: silentLogger,
    })
    const heard: unknown[] = []
    await registry.start((hint) => void heard.push(hint))
    registry.linkUp(connection)
    const own = { slim: { sequence: 1 }, full: { capabilities: [], capabilities_hash: 'h' } }
    registry.publish(own as unknown as OwnManifest, { revision: 3 })
    const bucket = await new Kvm(connection).create(bucketName(community), { history: 1, ttl: 60_000 })
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
