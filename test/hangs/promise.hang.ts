import { beforeAll, describe, expect, it } from 'vitest'

const NEVER = new Promise(() => undefined)

it('waits for a promise that nobody resolves', async () => {
  expect(await NEVER).toBeDefined()
})

it('polls in vain, and says itself what for', async () => {
  await expect.poll(() => 'closed').toBe('open')
})

it('runs after one that hangs', () => {
  expect(NEVER).toBeInstanceOf(Promise)
})

describe('a suite', () => {
  beforeAll(() => NEVER)

  it('never begins', () => {
    expect.unreachable()
  })
})
