import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { homeseerConfigSchema } from '../../config/homeseer.ts'
import {
  ADMIN_DOMAINS,
  isDryRunCall,
  listHomeseerPolicyRefusals,
  readHomeseerChangePolicy,
  type ChangeJustificationArguments,
} from './change-policy.ts'

const CLAIMED: ChangeJustificationArguments = { confirm: true, intent: 'light', reason: 'dark' }
const OPEN = { enabled: true, ...Object.fromEntries(ADMIN_DOMAINS.map((domain) => [domain, true])) }

function rules(section: object = {}) {
  return readHomeseerChangePolicy(homeseerConfigSchema.parse(section))
}

function reasons(
  section: object,
  claims: ChangeJustificationArguments,
  touched: Parameters<typeof listHomeseerPolicyRefusals>[2] = {},
): readonly string[] {
  return listHomeseerPolicyRefusals(rules(section), claims, touched).map(({ rule }) => rule)
}

describe('owner rules', () => {
  it('return every reason, in the order of the contract', () => {
    const strict = {
      safeMode: 'read_only',
      allow: { devices: [1], events: [], cameras: [1], scripts: ['a'], pluginFunctions: ['a:b'] },
      admin: { allowedUserIds: ['x'] },
    }
    const touched = {
      refs: [2],
      eventIds: [undefined],
      cameraIds: [2],
      scriptId: 'b',
      pluginFunction: 'a:c',
      userIds: ['y'],
      domain: 'users',
    } as const
    expect(reasons(strict, {}, touched)).toEqual([
      'safe-mode',
      'confirm',
      'intent',
      'reason',
      'device-list',
      'event-list',
      'camera-list',
      'script-list',
      'plugin-function-list',
      'user-list',
      'admin-enabled',
      'admin-domain',
      'maintenance-window',
      'change-ticket',
    ])
  })

  it('check for a dry run only that its target is allowed and administration is open', () => {
    const strict = { safeMode: 'read_only', allow: { devices: [1] } }
    expect(reasons(strict, { dryRun: true }, { refs: [1] })).toEqual([])
    expect(reasons(strict, { dryRun: true }, { refs: [2] })).toEqual(['device-list'])
    expect(reasons({}, { dryRun: true }, { domain: 'users' })).toEqual([
      'admin-enabled',
      'admin-domain',
      'maintenance-window',
      'change-ticket',
    ])
  })

  it('with default dry run make every call a dry run, whatever its arguments', () => {
    expect(isDryRunCall(rules({ defaultDryRun: true }), { dryRun: false })).toBe(true)
    expect(isDryRunCall(rules(), { dryRun: true })).toBe(true)
    expect(isDryRunCall(rules(), {})).toBe(false)
  })

  it('compare the maintenance window exactly', () => {
    const admin = { ...OPEN, maintenanceWindowId: 'Sunday', allowedMaintenanceWindowIds: ['Sunday', 'Monday'] }
    const verdict = (maintenanceWindowId: string) =>
      reasons({ admin }, { ...CLAIMED, changeTicket: 'CHG-1', maintenanceWindowId }, { domain: 'config' })
    expect(verdict('Sunday')).toEqual([])
    expect(verdict('sunday')).toEqual(['maintenance-window', 'maintenance-window-list'])
    expect(verdict('Monday')).toEqual(['maintenance-window'])
    expect(verdict(' ')).toEqual(['maintenance-window'])
  })

  it('open only the admin domain that is enabled', () => {
    const claims = { ...CLAIMED, maintenanceWindowId: 'w', changeTicket: 't' }
    for (const open of ADMIN_DOMAINS)
      for (const verdict of ADMIN_DOMAINS)
        expect(reasons({ admin: { enabled: true, [open]: true } }, claims, { domain: verdict })).toEqual(
          open === verdict ? [] : ['admin-domain'],
        )
  })

  it('refuse a reason without a letter or digit', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const refused = reasons({}, { ...CLAIMED, reason: text }).includes('reason')
        expect(refused).toBe(!/[\p{L}\p{N}]/u.test(text))
      }),
    )
  })
})
