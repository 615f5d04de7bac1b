import { expect, it } from 'vitest'
import { approvalsAnswer } from './remote.ts'

it('shows the id of the device, which rules and tokens take', () => {
  const approval = {
    id: '01M7GRQ0E461MTBTN6ZHDH9F14',
    state: 'requested',
    binding: { principal: 'local', tool: 'hs4.devices.set', target: 'homeseer:ref:141' },
    shown: { label: 'Front Door Lock (Hall, Ground)', arguments: { ref: 141, label: 'Unlock' } },
    expiresAtMs: 900_000,
  }
  expect(approvalsAnswer([approval], 0).text).toBe(
    [
      '01M7GRQ0E461MTBTN6ZHDH9F14  requested  hs4.devices.set on Front Door Lock (Hall, Ground)',
      '  asked by  local',
      '  target    homeseer:ref:141',
      '  arguments {"ref":141,"label":"Unlock"}',
      '  valid for 15 min',
    ].join('\n'),
  )
})
