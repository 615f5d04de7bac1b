/**
 * Devices: commands with which the owner enrols, lists, examines and revokes ESP32 devices. They call the same
 * capabilities as other callers, with the owner's credential.
 *
 * Pure: command-client.ts sends the requests, device-doctor-client.ts examines.
 */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { JsonObject } from '../core/json.ts'
import type { CallResultView } from '../web/api-requests.ts'
import { callToolAsOwner, printAnswer } from './command-client.ts'
import {
  formatDevicesTable,
  formatEnrolmentChangeSentence,
  isNameOfDevice,
  explainWhenDeviceConnects,
  formatFailedDeviceCall,
  formatRevokedSentence,
  formatDeviceTools,
} from './devices-text.ts'
import type { EnrolmentListView, DeviceToolsView } from './devices-text.ts'

const TRANSPORTS = ['websocket', 'mqtt', 'mqtt-broker'] as const

export function addDevicesCommands(program: Command): void {
  const devices = program.command('devices').description('ESP32 devices: who is let in, and what they may do')
  devices
    .command('list', { isDefault: true })
    .description('devices, and those that wait with a code')
    .action(async (_, command: Command) => {
      const { toLanUrl } = await import('./device-doctor-client.ts')
      await callAndPrint(command, 'devices.enrolment.list', {}, (view) =>
        formatDevicesTable(view as EnrolmentListView, toLanUrl),
      )
    })
  devices
    .command('show <device>')
    .description('what a device can do, and what of it is withheld')
    .action(async (device: string, _, command: Command) => {
      const enrolment = await called(command, 'devices.enrolment.list', {})
      if (enrolment === undefined) return
      const { devices: known } = enrolment.structured as unknown as EnrolmentListView
      const revoked = known.find((each) => each.state === 'revoked' && isNameOfDevice(each, device))
      if (revoked !== undefined)
        printAnswer(command, { json: { ...revoked }, text: formatRevokedSentence(revoked.device) })
      else
        await callAndPrint(command, 'devices.tools.list', { device }, (view) =>
          formatDeviceTools(view as DeviceToolsView),
        )
    })
  devices
    .command('approve <code>')
    .description('let the device in that shows this code')
    .option('--name <name>', 'what people call it')
    .addOption(new Option('--transport <transport>', 'the transport that it connects over').choices(TRANSPORTS))
    .action((code: string, options: { name?: string; transport?: string }, command: Command) =>
      callAndPrint(command, 'devices.enrolment.approve', { code, ...options }, (view) =>
        formatEnrolmentChangeSentence(view as JsonObject, explainWhenDeviceConnects(view as JsonObject)),
      ),
    )
  addLeaving(devices)
  addToolApproval(devices)
  devices
    .command('doctor [device]')
    .description('what a device would be sent, and whether it could reach that address')
    .option('--ota <url>', 'OTA address to ask instead of this gateway’s')
    .action(async (device: string | undefined, options: { ota?: string }, command: Command) => {
      const { runDeviceOtaDoctorCommand } = await import('./device-doctor-client.ts')
      await runDeviceOtaDoctorCommand(command, { device, ...options })
    })
}

function addLeaving(devices: Command): void {
  const decisions = [
    ['revoke', 'turn a device away: its credentials end and it is disconnected', 'is turned away'],
    [
      'rotate',
      'end a device’s credentials; it gets new ones at its next boot',
      'gets new credentials at its next boot',
    ],
    ['forget', 'forget the device: its next boot makes it unknown here', 'is forgotten'],
  ] as const
  for (const [name, description, done] of decisions)
    devices
      .command(`${name} <device>`)
      .description(description)
      .action((device: string, _, command: Command) =>
        callAndPrint(command, `devices.enrolment.${name}`, { device }, (view) =>
          formatEnrolmentChangeSentence(view as JsonObject, done),
        ),
      )
}

function addToolApproval(devices: Command): void {
  devices
    .command('approve-tools <device>')
    .description('take a device’s new and changed tools as they are described now')
    .option('--digest <digest>', 'only if this is still what is withheld, as `show` says')
    .action(async (device: string, options: { digest?: string }, command: Command) => {
      const view = await called(command, 'devices.tools.list', { device })
      if (view === undefined) return
      const shown = view.structured as unknown as DeviceToolsView
      // The owner approves the tools that were shown: a device that changes its tools meanwhile is refused.
      const digest = options.digest ?? shown.digest ?? ''
      await callAndPrint(command, 'devices.enrolment.approve_tools', { device, digest }, (answer) => {
        const { approved } = answer as { readonly approved: readonly string[] }
        return `${formatDeviceTools(shown)}\n\nApproved: ${approved.join(', ')}.`
      })
    })
}

/** Failures are told in the family's words for a program, in a sentence for a person. */
function called(command: Command, tool: string, body: JsonObject): Promise<CallResultView | undefined> {
  return callToolAsOwner(command, tool, body, formatFailedDeviceCall)
}

async function callAndPrint(
  command: Command,
  tool: string,
  body: JsonObject,
  render: (structured: unknown) => string,
): Promise<void> {
  const view = await called(command, tool, body)
  if (view !== undefined) printAnswer(command, { json: view.structured, text: render(view.structured) })
}
