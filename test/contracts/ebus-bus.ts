/**
 * eBUS bus contract: what holds for a bus whichever adapter it hangs on.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../../src/core/bytes.ts'
import type { Result } from '../../src/core/result.ts'
import type { EbusConnection, EbusEvent, EbusSendFault, EbusReply } from '../../src/ebus/adapter/ebus-connection.ts'
import type { EbusSimulator } from '../../src/sim/ebus/simulator-server.ts'

export interface BusStage {
  readonly bus: EbusConnection
  readonly simulator: EbusSimulator
  readonly close: () => Promise<void>
}

export interface BusContractOptions {
  /** Whether the way to the adapter can be cut and comes back. */
  readonly reconnects: boolean
}

const REGULATOR = 'b5424153563205071704'

export function busContract(name: string, open: () => Promise<BusStage>, { reconnects }: BusContractOptions): void {
  describe(`a bus over ${name}`, () => {
    let stage: BusStage
    beforeAll(async () => {
      stage = await open()
      await hasSignal(stage.bus)
    })
    afterAll(() => stage.close())

    it('returns the answer of the device that a request addresses', async () => {
      expect(answer(await ask(stage.bus, '15 0704'))).toBe(REGULATOR)
    })

    it('carries the escaped symbols A9 and AA in requests and answers', async () => {
      expect(answer(await ask(stage.bus, '15 b524 02 01 00 00 27 00 aaa9aa40'))).toBe('')
      expect(answer(await ask(stage.bus, '15 b524 02 00 00 00 27 00'))).toBe('02002700aaa9aa40')
    })

    it('sends a broadcast that gets no answer', async () => {
      expect(await ask(stage.bus, 'fe 07fe')).toMatchObject({ ok: true, value: { response: undefined } })
    })

    it('distinguishes an absent device from one that refuses', async () => {
      expect(await ask(stage.bus, '77 0704')).toEqual({ ok: false, fault: { kind: 'no-answer' } })
      expect(await ask(stage.bus, '08 b599 00')).toEqual({ ok: false, fault: { kind: 'refused' } })
    })

    it('reports its own telegrams once, and as its own', async () => {
      using events = stage.bus.events()
      await ask(stage.bus, '26 0704')
      await ask(stage.bus, '08 0704')
      const seen = await collect(events, ({ exchange }) => exchange.telegram.target === 0x08)
      expect(seen.map(({ own, exchange }) => [own, exchange.telegram.target])).toEqual([
        [true, 0x26],
        [true, 0x08],
      ])
    })

    it('reports telegrams between other participants', async () => {
      using events = stage.bus.events()
      stage.simulator.faults.arbitrationStorm(1)
      const [heard] = await collect(events, ({ own }) => !own)
      expect(heard).toMatchObject({ own: false, exchange: { telegram: { source: 0x00, target: 0xfe, primary: 0x07 } } })
    })

    it('gives each of many concurrent callers its own answer', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => ask(stage.bus, index % 2 === 0 ? '15 0704' : '26 0704', 50_000)),
      )
      expect(new Set(answers.map(answer))).toEqual(new Set([REGULATOR, 'b556525f373101005904']))
    })

    it('drops a cancelled request and carries the next one', async () => {
      const cancelled = new AbortController()
      const request = { target: 0x15, primary: 7, secondary: 4, data: new Uint8Array() }
      const send = stage.bus.send(request, { deadlineMs: 20_000, signal: cancelled.signal })
      cancelled.abort()
      expect(await send).toMatchObject({ ok: false, fault: { kind: 'cancelled' } })
      expect(answer(await ask(stage.bus, '15 0704'))).toBe(REGULATOR)
    })

    it.runIf(reconnects)('reconnects after the connection was lost', async () => {
      stage.simulator.faults.tcpDrop()
      let result = await ask(stage.bus, '15 0704')
      for (let tries = 0; !result.ok && tries < 200; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        result = await ask(stage.bus, '15 0704')
      }
      expect(answer(result)).toBe(REGULATOR)
    })

    it('ends its event stream and its waiting calls when it is closed', async () => {
      const events = stage.bus.events()
      const waiting = ask(stage.bus, '15 0704')
      await stage.bus.close()
      expect(['closed', undefined]).toContain(kindOf(await waiting))
      const rest: string[] = []
      for await (const { kind } of events) rest.push(kind)
      expect(rest).not.toContain('connected')
      expect(await ask(stage.bus, '15 0704')).toMatchObject({ ok: false, fault: { kind: 'closed' } })
    })
  })
}

type ExchangeEvent = Extract<EbusEvent, { kind: 'exchange' }>

async function collect(
  events: AsyncIterable<EbusEvent>,
  isLast: (event: ExchangeEvent) => boolean,
): Promise<ExchangeEvent[]> {
  const seen: ExchangeEvent[] = []
  for await (const event of events) {
    if (event.kind !== 'exchange') continue
    seen.push(event)
    if (isLast(event)) break
  }
  return seen
}

export async function hasSignal(bus: EbusConnection): Promise<void> {
  for (let waited = 0; !bus.status().signal && waited < 20_000; waited += 10)
    await new Promise((resolve) => setTimeout(resolve, 10))
}

function ask(bus: EbusConnection, text: string, deadlineMs = 20_000): Promise<Result<EbusReply, EbusSendFault>> {
  const [target = 0, primary = 0, secondary = 0, ...data] = fromHex(text)
  return bus.send({ target, primary, secondary, data: Uint8Array.from(data) }, { deadlineMs, repeatable: true })
}

const answer = (result: Result<EbusReply, EbusSendFault>): string =>
  result.ok ? toHex(result.value.response ?? new Uint8Array()) : JSON.stringify(result.fault)
const kindOf = (result: Result<EbusReply, EbusSendFault>): string | undefined =>
  result.ok ? undefined : result.fault.kind
