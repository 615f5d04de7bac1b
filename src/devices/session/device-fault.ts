/**
 * Device fault: every way in which a call to a device can fail, and the sentence a person or a model is told.
 */
import type { DeviceArgumentsFault } from '../wire/tool-arguments.ts'

export type DeviceFault =
  | { readonly kind: 'unknown-device'; readonly device: string }
  /** The device is not connected. Nothing was sent. */
  | { readonly kind: 'asleep'; readonly device: string; readonly wakesItself: boolean }
  /** `listed` is false when the device has not listed any tool, so that it is not known whether the tool exists. */
  | { readonly kind: 'unknown-tool'; readonly tool: string; readonly listed: boolean }
  | DeviceArgumentsFault
  /** `ofOne`: the limit for one caller was reached. */
  | { readonly kind: 'queue-full'; readonly limit: number; readonly ofOne?: boolean }
  /**
   * The call waited too long for its turn or, if the device is still asleep, for the device to wake. Nothing was sent.
   */
  | { readonly kind: 'expired'; readonly afterMs: number; readonly asleep: boolean }
  /** The request was sent, and no answer came in time. */
  | { readonly kind: 'timed-out'; readonly afterMs: number }
  | { readonly kind: 'disconnected'; readonly sent: boolean }
  | { readonly kind: 'cancelled'; readonly sent: boolean }
  | { readonly kind: 'device-error'; readonly code: number | undefined; readonly message: string }
  | { readonly kind: 'bad-answer'; readonly problem: string }
  | { readonly kind: 'unsupported'; readonly needs: string }

/** Whether the device may have carried out the call although the caller got no answer. */
export function mayDeviceHaveActed(fault: DeviceFault): boolean {
  if (fault.kind === 'timed-out' || fault.kind === 'bad-answer') return true
  return (fault.kind === 'disconnected' || fault.kind === 'cancelled') && fault.sent
}

export function formatDeviceFault(fault: DeviceFault): string {
  switch (fault.kind) {
    case 'unknown-device':
      return `No device ${fault.device} is enrolled here.`
    case 'asleep':
      return fault.wakesItself
        ? `The device ${fault.device} is offline. It connects by itself as soon as it has power and network.`
        : `The device ${fault.device} is asleep. It connects only when somebody wakes it by voice or button.`
    case 'unknown-tool':
      return fault.listed
        ? `The device has no tool ${fault.tool}.`
        : `The device has not listed any tools, so ${fault.tool} was not sent.`
    case 'invalid-arguments':
      return `Nothing was sent: ${fault.problems.join('; ')}.`
    case 'queue-full':
      if (fault.ofOne === true) return `You have ${fault.limit} calls waiting for devices already. Nothing was sent.`
      return `The device is busy: ${fault.limit} calls are already waiting for it. Nothing was sent.`
    case 'expired':
      return fault.asleep
        ? `The call waited ${seconds(fault.afterMs)} for the device to wake and was given up. Nothing was sent.`
        : `The device is busy: the call waited ${seconds(fault.afterMs)} for its turn. Nothing was sent.`
    case 'timed-out':
      return `The device did not answer within ${seconds(fault.afterMs)}. It may have acted all the same.`
    case 'disconnected':
    case 'cancelled': {
      const what = fault.kind === 'cancelled' ? 'The call was cancelled' : 'The device disconnected'
      return fault.sent
        ? `${what} after the request was sent. It may have acted all the same.`
        : `${what} before the request was sent.`
    }
    case 'device-error':
      return `The device answered with an error: ${fault.message}`
    case 'bad-answer':
      return `The device answered something that cannot be used: ${fault.problem}.`
    case 'unsupported':
      return `The device cannot do this: it needs ${fault.needs}.`
    default:
      return fault satisfies never
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}
