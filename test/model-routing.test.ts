import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runtimeRig } from './runtime-rig.ts'
import type { Rig } from './runtime-rig.ts'
import { fail, ok } from '../src/core/result.ts'
import type { Outcome } from '../src/bus/call.ts'
import { createChatTool } from '../src/models/model-tools.ts'

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
})
afterEach(() => rig.close())

function offerModel(model: string, act: () => Promise<Outcome>): void {
  const tool = createChatTool({ model, backend: 'test', maxConcurrent: 4, timeoutSeconds: 30 })
  const registered = rig.bus.registerCapability(
    tool.streamedBy(async function* () {
      yield { event: 'token', data: { text: model } }
      return act()
    }),
  )
  if (!registered.ok) throw new Error(registered.fault.message)
}

const answers = (model: string) => async (): Promise<Outcome> =>
  ok({
    data: {
      output: { message: { role: 'assistant', content: `I am ${model}.` }, finish_reason: 'stop' },
      meta: { ms: 1, model, tokens_in: 1 },
    },
  })
const fails = async (): Promise<Outcome> => fail({ kind: 'failed', message: 'The model is\u202e on fire.' })

describe('a prompt to router_call', () => {
  it('fails at once as an exhausted chain when there is no model', async () => {
    expect(await rig.data('router_score', { prompt: 'Hello' })).toEqual({
      capability: 'llm.chat',
      scores: {},
      winner: null,
      rule_version_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(await rig.answer('router_call', { prompt: 'Hello' })).toMatchObject({
      isError: true,
      structured: {
        ok: false,
        error: {
          code: 'HANDLER_ERROR',
          message: expect.stringMatching(/^FallbackChainExhaustedError: /),
          details: { attempts: [] },
        },
      },
    })
  })

  it('goes to the model with the best score', async () => {
    offerModel('amber', answers('amber'))
    offerModel('birch', answers('birch'))
    const even = await rig.data('router_score', { prompt: 'Hello' })
    const scores = even['scores'] as Record<string, number>
    expect(scores['amber']).toBe(scores['birch'])
    expect(even['winner']).toBe('amber')
    const context = { operatorPreference: { birch: 1 } }
    expect(await rig.data('router_score', { prompt: 'Hello', context })).toMatchObject({ winner: 'birch' })
    expect(await rig.data('router_call', { prompt: 'Hello', context })).toMatchObject({
      capability: 'llm.chat',
      model: 'birch',
      served_by: 'node-a',
      attempts: [],
      data: { output: { message: { content: 'I am birch.' } } },
    })
  })

  it('falls back to the next model, and lists the attempts when none answers', async () => {
    offerModel('amber', fails)
    offerModel('birch', answers('birch'))
    const context = { operatorPreference: { amber: 1 } }
    expect(await rig.data('router_call', { prompt: 'Hello', context })).toMatchObject({
      model: 'birch',
      attempts: [{ model: 'amber', code: 'failed' }],
    })
    const { scores } = (await rig.data('router_score', { prompt: 'Hello' })) as { scores: Record<string, number> }
    expect(scores['amber']).toBeLessThan(scores['birch'] ?? 0)
  })

  it('has every attempt recorded, and no hidden characters in its error', async () => {
    offerModel('amber', fails)
    offerModel('birch', fails)
    const error = await rig.error('router_call', { prompt: 'Hello' })
    expect(error).toMatchObject({
      code: 'HANDLER_ERROR',
      details: { attempts: [{ model: 'amber' }, { model: 'birch' }] },
    })
    expect(JSON.stringify(error)).not.toContain('\u202e')
    const tools = rig.entries('call.enter').map(({ tool }) => tool)
    expect(tools).toEqual(['router_call', 'llm.chat', 'llm.chat'])
  })

  it.each([
    {},
    { prompt: '' },
    { prompt: 'x', capability: 'y' },
    { capability: 'y', context: {} },
    { prompt: 'x', context: { colour: 1 } },
  ])('is refused with the arguments %o', async (args) => {
    for (const tool of ['router_score', 'router_call'])
      expect(await rig.error(tool, args)).toMatchObject({ code: 'INVALID_PARAMS' })
  })
})
