import { connect } from '@nats-io/transport-node'
import { afterAll, describe } from 'vitest'
import { fromUtf8 } from '../../src/core/bytes.ts'
import { decodeNatsAnswerMessage, encodeNatsMessage } from '../../src/mesh/nats/nats-payload.ts'
import { formatCallSubject } from '../../src/mesh/nats/subject.ts'
import { meshAttacks } from '../mesh-attacks.ts'
import { NATS_SERVER, startNats, warnWithoutNats } from '../nats-process.ts'
import type { NatsProcess } from '../nats-process.ts'

warnWithoutNats('attacks over NATS')
describe.skipIf(NATS_SERVER === '')('with a nats-server', () => {
  let broker: NatsProcess | undefined

  afterAll(() => broker?.stop())

  meshAttacks('NATS', async () => {
    broker = await startNats()
    const { url } = broker
    return {
      mesh: `  nats: { servers: ['${url}'] }`,
      open: async ({ community, node }) => {
        const connection = await connect({ servers: url })
        const subject = formatCallSubject(community, node.nodeId)
        return {
          post: async (fields, proof, body) => {
            const payload = encodeNatsMessage({ t: 'call', f: fields, p: proof }, body)
            const { data } = await connection.request(subject, payload, { timeout: 60_000 })
            const message = decodeNatsAnswerMessage(data)
            if (!message.ok || message.value.head.t !== 'reply') throw new Error(fromUtf8(data))
            const { head, body: answer } = message.value
            return { status: head.s, proof: head.p, text: fromUtf8(answer) ?? '' }
          },
          packet: async (packet) => (await connection.request(subject, packet, { timeout: 60_000 })).string(),
          close: () => connection.close(),
        }
      },
    }
  })
})
