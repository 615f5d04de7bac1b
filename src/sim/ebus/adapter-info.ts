/**
 * Adapter info: the virtual adapter's answers to INFO requests, by id.
 */
const POWER_ON = 1
const EXTERNAL_RESET = 5
/** Enhanced, high speed, WiFi. */
const JUMPERS = 0x0b

/** The count first, then the data; `undefined` for an unknown id. */
export function encodeAdapterInfoAnswer(id: number, restarts: number): Uint8Array | undefined {
  // By id: 0 version, features, checksum, jumpers, bootloader; 1 hardware id; 2 configuration; 3 temperature in °C;
  // 4 supply in mV; 5 bus voltage, highest and lowest in tenths of a volt; 6 why it restarted and how often; 7 dBm.
  const answers: readonly (readonly number[])[] = [
    [0x26, 0x01, 0x5c, 0x31, JUMPERS, 0x02, 0x9a, 0x07],
    [0x34, 0x85, 0x18, 0x2a, 0x7f, 0x10, 0x00, 0x01, 0x26],
    [0x01, 0x00, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00],
    [0x00, 34],
    [5_021 >> 8, 5_021 & 0xff],
    [193, 97],
    [restarts === 0 ? POWER_ON : EXTERNAL_RESET, restarts & 0xff],
    [-58 & 0xff],
  ]
  const answer = answers[id]
  return answer === undefined ? undefined : Uint8Array.of(answer.length, ...answer)
}
