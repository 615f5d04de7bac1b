import { describe, expect, it } from 'vitest'
import type { McpAnswer } from './mcp-request.ts'
import { AccessPointCalls, LATE_ANSWER_MARKER } from './access-point-calls.ts'

/** A tool that ends when the test says so, a clock, and a patience that the test ends. */
class Conversation {
  nowMs = 0
  runs = 0
  readonly signals: AbortSignal[] = []
  #finish: ((answer: McpAnswer) => void)[] = []
  #patience = Promise.withResolvers<typeof LATE_ANSWER_MARKER>()
  readonly calls = new AccessPointCalls({ nowMs: () => this.nowMs, patience: () => this.#patience.promise })

  async ask(id: number, fingerprint = 'scene'): Promise<string> {
    const answer = await this.calls.answer({
      id,
      fingerprint,
      run: (signal) => {
        this.runs++
        this.signals.push(signal)
        return new Promise((resolve) => this.#finish.push(resolve))
      },
    })
    return JSON.stringify(answer)
  }

  async endPatience(): Promise<void> {
    this.#patience.resolve(LATE_ANSWER_MARKER)
    await this.#patience.promise
    this.#patience = Promise.withResolvers()
  }

  async finish(text: string): Promise<void> {
    for (const resolve of this.#finish.splice(0)) resolve({ result: { text } })
    await Promise.resolve()
  }
}

describe('calls from a voice backend', () => {
  it('answer a repeated call with the outcome of the late first one, which runs once', async () => {
    const talk = new Conversation()
    const first = talk.ask(1)
    await talk.endPatience()
    expect(await first).toContain('still under way')
    const again = talk.ask(2)
    await talk.finish('done')
    expect(await again).toContain('done')
    expect(talk.runs).toBe(1)
    // That was the answer: whoever asks once more wants it done once more.
    const more = talk.ask(3)
    await talk.finish('done twice')
    expect(await more).toContain('done twice')
    expect(talk.runs).toBe(2)
  })

  it('keep the outcome of a late call for one minute, and only for the same arguments', async () => {
    const talk = new Conversation()
    const first = talk.ask(1)
    await talk.endPatience()
    await first
    await talk.finish('done')
    const other = talk.ask(2, 'other scene')
    await talk.finish('other')
    expect(await other).toContain('other')
    talk.nowMs = 60_001
    const evening = talk.ask(3)
    await talk.finish('in the evening')
    expect(await evening).toContain('in the evening')
  })

  it('run two simultaneous calls with one id separately, and cancel both by that id', async () => {
    const talk = new Conversation()
    void talk.ask(1)
    void talk.ask(1)
    expect(talk.runs).toBe(2)
    talk.calls.withdraw(1)
    expect(talk.signals.map(({ aborted }) => aborted)).toEqual([true, true])
  })

  it('are limited to sixteen at the same time', async () => {
    const talk = new Conversation()
    for (let id = 0; id < 16; id++) void talk.ask(id, `scene ${id}`)
    expect(await talk.ask(16, 'one more')).toContain('Too much is going on')
    expect(talk.calls.underWay).toBe(16)
  })
})
