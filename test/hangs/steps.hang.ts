import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'

it('takes small steps with waits between them', async () => {
  for (let step = 0; step < 4; step++) {
    await sleep(1_500)
    expect(step).toBeLessThan(4)
  }
})
