import { describe } from 'vitest'
import { httpPair, natsPair } from '../mesh-pair.ts'
import { NATS_SERVER, warnWithoutNats } from '../nats-process.ts'
import { meshTransportContract } from './mesh-transport-contract.ts'

meshTransportContract('HTTP', httpPair)
meshTransportContract('HTTP, unsigned', () => httpPair({ signatures: 'none' }))

warnWithoutNats('the mesh transport contract over NATS')
describe.skipIf(NATS_SERVER === '')('with a nats-server', () => {
  meshTransportContract('NATS', natsPair)
  meshTransportContract('NATS, unsigned', () => natsPair({ signatures: 'none' }))
})
