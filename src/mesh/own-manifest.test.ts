import { describe, expect, it } from 'vitest'
import { answering, echo, node } from '../../test/bus-village.ts'
import { manualClock } from '../../test/manual-clock.ts'
import { identityOf } from '../../test/mesh-keys.ts'
import { parseNodeManifest } from './identity/node-manifest.ts'
import { OwnManifestIssuer } from './own-manifest.ts'

const PREFIXES = { name: 'test', prefixes: ['device'] }

function manifestOf(description: string, names: readonly string[]) {
  const bus = node('attic')
  for (const name of names) bus.registerCapability(answering({ name, description }, echo), PREFIXES)
  const clock = manualClock()
  const self = new OwnManifestIssuer({
    identity: identityOf(1),
    name: 'attic',
    ledgerOrigin: undefined,
    communityId: () => identityOf(2).id,
    bus,
    clock,
    firstSequence: 1,
  })
  const full = self.manifest()?.full
  return {
    read: parseNodeManifest(full, clock.now()),
    bytes: Buffer.byteLength(JSON.stringify(full)),
    omitted: self.omitted(),
  }
}

describe('manifest of this node', () => {
  const names = Array.from({ length: 2_100 }, (_, each) => `device.panel-${each}.set`)

  it('lists the first 2,000 capabilities when the node offers more', () => {
    const { read, omitted } = manifestOf('', names)
    if (!read.ok) throw new Error(JSON.stringify(read.fault))
    expect(read.value.capabilities?.map(({ name }) => name)).toEqual(names.slice(0, 2_000))
    expect(omitted).toBe(100)
  })

  it('stays below 1 MiB by leaving out capabilities, however long their descriptions are', () => {
    const { read, bytes, omitted } = manifestOf('ü'.repeat(1_000), names)
    if (!read.ok) throw new Error(JSON.stringify(read.fault))
    expect(read.value.capabilities).toHaveLength(2_100 - omitted)
    expect(omitted).toBeGreaterThan(1_600)
    expect(bytes).toBeLessThan(1_048_576)
  })
})
